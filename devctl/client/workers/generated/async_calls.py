"""The operations of the GPU workers API.

Generated from docs/workers-openapi.json by `make api`: change what the gateway says instead.
"""

from __future__ import annotations

from devctl.client.async_calls import AsyncPart, awaited, iterated
from devctl.client.workers.generated.calls import Calls


class AsyncCalls(AsyncPart):
    """Every operation of the GPU workers API; see Calls."""

    cancel_job = awaited(Calls.cancel_job)
    change_account = awaited(Calls.change_account)
    change_node = awaited(Calls.change_node)
    create_key = awaited(Calls.create_key)
    create_registration_token = awaited(Calls.create_registration_token)
    delete_job = awaited(Calls.delete_job)
    get_account = awaited(Calls.get_account)
    get_agent = awaited(Calls.get_agent)
    get_balance = awaited(Calls.get_balance)
    get_invoice = awaited(Calls.get_invoice)
    get_invoice_csv = awaited(Calls.get_invoice_csv)
    get_job = awaited(Calls.get_job)
    get_job_artifact = iterated(Calls.get_job_artifact)
    get_job_cost = awaited(Calls.get_job_cost)
    get_job_logs = iterated(Calls.get_job_logs)
    get_node = awaited(Calls.get_node)
    get_node_stats = awaited(Calls.get_node_stats)
    give_credit = awaited(Calls.give_credit)
    healthz = awaited(Calls.healthz)
    list_accounts = iterated(Calls.list_accounts)
    list_audit_entries = iterated(Calls.list_audit_entries)
    list_available_nodes = awaited(Calls.list_available_nodes)
    list_job_artifacts = awaited(Calls.list_job_artifacts)
    list_jobs = iterated(Calls.list_jobs)
    list_keys = iterated(Calls.list_keys)
    list_ledger_entries = iterated(Calls.list_ledger_entries)
    list_nodes = iterated(Calls.list_nodes)
    list_registration_tokens = iterated(Calls.list_registration_tokens)
    my_account = awaited(Calls.my_account)
    readyz = awaited(Calls.readyz)
    register_agent = awaited(Calls.register_agent)
    register_node = awaited(Calls.register_node)
    report_heartbeat = awaited(Calls.report_heartbeat)
    report_job_status = awaited(Calls.report_job_status)
    retire_node = awaited(Calls.retire_node)
    revoke_key = awaited(Calls.revoke_key)
    revoke_registration_token = awaited(Calls.revoke_registration_token)
    rotate_key = awaited(Calls.rotate_key)
    submit_job = awaited(Calls.submit_job)
