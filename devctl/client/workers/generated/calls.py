"""The operations of the GPU workers API.

Generated from docs/workers-openapi.json by `make api`: change what the gateway says instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.client.workers.generated.models import (
    Account,
    AccountBalance,
    AccountChange,
    AccountPage,
    Agent,
    Artifacts,
    AuditEntry,
    AuditEntryPage,
    AvailableNodes,
    Cost,
    Health,
    Heard,
    Heartbeat,
    InvoiceAnswer,
    Key,
    KeyPage,
    LedgerEntry,
    LedgerEntryPage,
    MadeKey,
    MadeRegistrationToken,
    Me,
    NewAgent,
    NewCredit,
    NewJob,
    NewKey,
    NewNode,
    NewRegistrationToken,
    Node,
    NodeChange,
    NodePage,
    NodeStats,
    RegisteredNode,
    RegistrationToken,
    RegistrationTokenPage,
    Rotation,
    StatusReport,
    WorkerJob,
    WorkerJobPage,
)
from devctl.client.workers.pages import all_pages
from devctl.client.workers.writing import part, whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from devctl.client.workers.api import Api


class Calls:
    """Every operation of the GPU workers API, by its name there. Lists are read page by page."""

    def __init__(self, api: Api) -> None:
        """Take the API; ask nothing yet."""
        self._api = api

    def cancel_job(self, job_id: str) -> WorkerJob:
        """End a job, whether it runs or waits.

        Repeating it changes nothing.

        Args:
            job_id: The job's ID.
        """
        return self._api.call(
            WorkerJob, "POST", f"/gpu-workers/jobs/{part(job_id)}/cancel", repeat=True
        )

    def change_account(self, account_id: str, body: AccountChange) -> Account:
        """Say whether an account's jobs need credit.

        With If-Match, only if it has not changed.

        Args:
            account_id: The account's ID.
            body: What is asked.
        """
        return self._api.call(
            Account, "PATCH", f"/gpu-workers/accounts/{part(account_id)}", body=body
        )

    def change_node(self, node_id: str, body: NodeChange) -> Node:
        """Set a node aside for maintenance, or change its prices and how many jobs it takes at once.

        A price is for what begins from now on.

        Args:
            node_id: The node's ID.
            body: What is asked.
        """
        return self._api.call(Node, "PATCH", f"/gpu-workers/nodes/{part(node_id)}", body=body)

    def create_key(self, body: NewKey, *, key: str = "") -> MadeKey:
        """Make a key, which is shown this once.

        An account's key acts as a user, whatever other roles its account has. A key cannot make
        keys: that needs a login.

        Args:
            body: What is asked.
            key: Names the request: its repetition does nothing again. Empty for none.
        """
        return self._api.call(MadeKey, "POST", "/gpu-workers/keys/", body=body, key=key)

    def create_registration_token(
        self, body: NewRegistrationToken | None = None, *, key: str = ""
    ) -> MadeRegistrationToken:
        """Make a token, which is shown this once.

        Unless said, it registers one node, within an hour.

        Args:
            body: What is asked; nothing by default.
            key: Names the request: its repetition does nothing again. Empty for none.
        """
        return self._api.call(
            MadeRegistrationToken, "POST", "/gpu-workers/registration-tokens/", body=body, key=key
        )

    def delete_job(self, job_id: str) -> None:
        """Cancel a job if it runs or waits, and show it no more once it has ended.

        What it has cost stays in the ledger and in invoices. Repeating it changes nothing.

        Args:
            job_id: The job's ID.
        """
        self._api.delete(f"/gpu-workers/jobs/{part(job_id)}")

    def get_account(self, account_id: str) -> Account:
        """An account.

        Args:
            account_id: The account's ID.
        """
        return self._api.call(
            Account, "GET", f"/gpu-workers/accounts/{part(account_id)}", repeat=True
        )

    def get_agent(self, agent_id: str) -> Agent:
        """An agent; to a node, its own.

        Args:
            agent_id: The agent's ID.
        """
        return self._api.call(Agent, "GET", f"/gpu-workers/agents/{part(agent_id)}", repeat=True)

    def get_balance(self) -> AccountBalance:
        """What the caller's account has left."""
        return self._api.call(
            AccountBalance, "GET", "/gpu-workers/accounts/me/balance", repeat=True
        )

    def get_invoice(self, month: str, *, account: str | None = None) -> InvoiceAnswer:
        """An account's month: what each job has held, and what that costs.

        Args:
            month: Such as 2026-05.
            account: Another account; admins only.
        """
        return self._api.call(
            InvoiceAnswer,
            "GET",
            f"/gpu-workers/invoices/{part(month)}",
            {"account": account},
            repeat=True,
        )

    def get_invoice_csv(self, month: str, *, account: str | None = None) -> str:
        """An account's month: what each job has held, and what that costs; as CSV.

        Args:
            month: Such as 2026-05.
            account: Another account; admins only.
        """
        return self._api.text(
            f"/gpu-workers/invoices/{part(month)}", {"account": account}, accept="text/csv"
        )

    def get_job(self, job_id: str) -> WorkerJob:
        """A job.

        Args:
            job_id: The job's ID.
        """
        return self._api.call(WorkerJob, "GET", f"/gpu-workers/jobs/{part(job_id)}", repeat=True)

    def get_job_artifact(self, job_id: str, path: str) -> Iterator[bytes]:
        """A file of a job's, as it is now.

        An answer that is shorter than its Content-Length is of a file that became shorter
        meanwhile.

        Args:
            job_id: The job's ID.
            path: As the list has it.
        """
        return self._api.stream(
            f"/gpu-workers/jobs/{part(job_id)}/artifacts/{whole(path)}", silence=60.0
        )

    def get_job_cost(self, job_id: str) -> Cost:
        """What a job costs: until now while it runs, for good once all its runs are charged.

        Args:
            job_id: The job's ID.
        """
        return self._api.call(Cost, "GET", f"/gpu-workers/jobs/{part(job_id)}/cost", repeat=True)

    def get_job_logs(
        self, job_id: str, *, follow: bool | None = None, tail: int | None = None
    ) -> Iterator[bytes]:
        """What a job has written, as long as its pod is there.

        An account reads a few logs at a time: one more is refused until one of them has ended.

        Args:
            job_id: The job's ID.
            follow: Until the job ends. Unless said, `false`.
            tail: Only the last lines.
        """
        return self._api.stream(
            f"/gpu-workers/jobs/{part(job_id)}/logs", {"follow": follow, "tail": tail}
        )

    def get_node(self, node_id: str) -> Node:
        """A node.

        Args:
            node_id: The node's ID.
        """
        return self._api.call(Node, "GET", f"/gpu-workers/nodes/{part(node_id)}", repeat=True)

    def get_node_stats(self, node_id: str) -> NodeStats:
        """What a node does now, as the cluster sees it, and what its agent reports.

        Args:
            node_id: The node's ID.
        """
        return self._api.call(
            NodeStats, "GET", f"/gpu-workers/nodes/{part(node_id)}/stats", repeat=True
        )

    def give_credit(self, account_id: str, body: NewCredit, *, key: str = "") -> LedgerEntry:
        """Give an account credit.

        Args:
            account_id: The account's ID.
            body: What is asked.
            key: Names the request: its repetition does nothing again. Empty for none.
        """
        return self._api.call(
            LedgerEntry,
            "POST",
            f"/gpu-workers/accounts/{part(account_id)}/credit",
            body=body,
            key=key,
        )

    def healthz(self) -> Health:
        """Whether the process answers at all."""
        return self._api.call(Health, "GET", "/healthz")

    def list_accounts(self, *, name: str | None = None) -> Iterator[Account]:
        """All accounts, the newest first.

        Args:
            name: Only accounts of this name.
        """
        return all_pages(self._api, AccountPage, "/gpu-workers/accounts/", {"name": name})

    def list_audit_entries(
        self, *, actor: str | None = None, action: str | None = None, target: str | None = None
    ) -> Iterator[AuditEntry]:
        """Who changed what, the latest first.

        Args:
            actor: Only by them.
            action: Only this.
            target: Only to this.
        """
        return all_pages(
            self._api,
            AuditEntryPage,
            "/gpu-workers/audit/",
            {"actor": actor, "action": action, "target": target},
        )

    def list_available_nodes(
        self,
        *,
        gpu_memory_required: int | None = None,
        cpu_cores_required: int | None = None,
        memory_required: int | None = None,
        gpu_count: int | None = None,
        scheduling_strategy: str | None = None,
    ) -> AvailableNodes:
        """The nodes on which a job fits now, the one that suits best first; or why there is none.

        Args:
            gpu_memory_required: In megabytes. Unless said, `0`.
            cpu_cores_required: Whole cores. Unless said, `0`.
            memory_required: In megabytes. Unless said, `0`.
            gpu_count: 1 if GPU memory is required, else 0.
            scheduling_strategy: The order. It is leastLoaded, packed, costOptimized or random.
                Unless said, `"leastLoaded"`.
        """
        return self._api.call(
            AvailableNodes,
            "GET",
            "/gpu-workers/available-nodes/",
            {
                "gpu_memory_required": gpu_memory_required,
                "cpu_cores_required": cpu_cores_required,
                "memory_required": memory_required,
                "gpu_count": gpu_count,
                "scheduling_strategy": scheduling_strategy,
            },
            repeat=True,
        )

    def list_job_artifacts(
        self, job_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Artifacts:
        """A job's files, sorted by path; none if it has written none, or they were removed.

        Regular files alone: neither links nor files with two names. Names with control characters,
        or that are not UTF-8, are left out. A page may have fewer files than its limit, and yet a
        next.

        Args:
            job_id: The job's ID.
            limit: Items at most. Unless said, `50`.
            cursor: The `next_cursor` of the page before.
        """
        return self._api.call(
            Artifacts,
            "GET",
            f"/gpu-workers/jobs/{part(job_id)}/artifacts",
            {"limit": limit, "cursor": cursor},
            repeat=True,
        )

    def list_jobs(
        self,
        *,
        state: str | None = None,
        job_name: str | None = None,
        created_from: datetime | None = None,
        created_before: datetime | None = None,
        node_id: str | None = None,
        account: str | None = None,
    ) -> Iterator[WorkerJob]:
        """The caller's jobs, the newest first.

        State and node are the cluster's, so a page may have fewer jobs than its limit, and yet a
        next one.

        Args:
            state: Only those in this state. It is pending, scheduled, running, completed, failed or
                cancelled.
            job_name: Only those of this name.
            created_from: Only those from then on.
            created_before: Only those before.
            node_id: Only those that are or were there.
            account: Of another account; admins only.
        """
        return all_pages(
            self._api,
            WorkerJobPage,
            "/gpu-workers/jobs/",
            {
                "state": state,
                "job_name": job_name,
                "created_from": created_from,
                "created_before": created_before,
                "node_id": node_id,
                "account": account,
            },
        )

    def list_keys(self, *, node_id: str | None = None) -> Iterator[Key]:
        """The caller's keys, or a node's, the newest first; those that have ended, too.

        Args:
            node_id: Keys of this node; operators only.
        """
        return all_pages(self._api, KeyPage, "/gpu-workers/keys/", {"node_id": node_id})

    def list_ledger_entries(self) -> Iterator[LedgerEntry]:
        """The charges and credits of the caller's account, the latest first."""
        return all_pages(self._api, LedgerEntryPage, "/gpu-workers/accounts/me/ledger")

    def list_nodes(
        self, *, state: str | None = None, gpu_type: str | None = None
    ) -> Iterator[Node]:
        """Registered nodes, the newest first; to a node, itself.

        The state is computed, so a page may have fewer nodes than its limit, and yet a next one.

        Args:
            state: Only those in this state. It is pending, active, inactive, error or maintenance.
            gpu_type: Only those with such GPUs.
        """
        return all_pages(
            self._api, NodePage, "/gpu-workers/nodes/", {"state": state, "gpu_type": gpu_type}
        )

    def list_registration_tokens(self) -> Iterator[RegistrationToken]:
        """All tokens, the newest first; those that have ended, too."""
        return all_pages(self._api, RegistrationTokenPage, "/gpu-workers/registration-tokens/")

    def my_account(self) -> Me:
        """The caller's account, and what they may do."""
        return self._api.call(Me, "GET", "/gpu-workers/accounts/me", repeat=True)

    def readyz(self) -> Health:
        """Whether it can answer: the database does, and what is known of the cluster is current."""
        return self._api.call(Health, "GET", "/readyz")

    def register_agent(self, body: NewAgent) -> Agent:
        """Note which agent a node has, with the node's key.

        It keeps its ID.

        Args:
            body: What is asked.
        """
        return self._api.call(Agent, "POST", "/gpu-workers/agents/register", body=body)

    def register_node(self, body: NewNode, *, key: str = "") -> RegisteredNode:
        """Register a node, with a registration token, its service account, or the role `operator`.

        A node that registers again gets a new key, and its old ones end. Its ID, prices and
        maintenance stay.

        Args:
            body: What is asked.
            key: Names the request: its repetition does nothing again. Empty for none.
        """
        return self._api.call(
            RegisteredNode, "POST", "/gpu-workers/nodes/register", body=body, key=key
        )

    def report_heartbeat(self, node_id: str, body: Heartbeat) -> Heard:
        """What a node's agent reports.

        A node reports for itself alone.

        Args:
            node_id: The node's ID.
            body: What is asked.
        """
        return self._api.call(
            Heard, "POST", f"/gpu-workers/nodes/{part(node_id)}/heartbeat", body=body, repeat=True
        )

    def report_job_status(self, job_id: str, body: StatusReport) -> WorkerJob:
        """What the agent of a job's node says of it.

        It is shown; neither state nor bill follow it.

        Args:
            job_id: The job's ID.
            body: What is asked.
        """
        return self._api.call(
            WorkerJob, "POST", f"/gpu-workers/jobs/{part(job_id)}/status", body=body, repeat=True
        )

    def retire_node(self, node_id: str) -> None:
        """End a node's keys and set it aside for good; it stays in the books.

        It may register again. A node on which jobs run is refused.

        Args:
            node_id: The node's ID.
        """
        self._api.delete(f"/gpu-workers/nodes/{part(node_id)}")

    def revoke_key(self, key_id: str) -> None:
        """End a key now; nothing if it has ended already.

        Args:
            key_id: The key's ID.
        """
        self._api.delete(f"/gpu-workers/keys/{part(key_id)}")

    def revoke_registration_token(self, token_id: str) -> None:
        """End a token now; nothing if it has ended already.

        Nodes registered with it stay.

        Args:
            token_id: The token's ID.
        """
        self._api.delete(f"/gpu-workers/registration-tokens/{part(token_id)}")

    def rotate_key(self, key_id: str, body: Rotation | None = None, *, key: str = "") -> MadeKey:
        """Make a key in a valid one's place, which stays valid for ten minutes unless said.

        A key can be rotated with itself. The new one is valid for as long as the old one was made
        for.

        Args:
            key_id: The key's ID.
            body: What is asked; nothing by default.
            key: Names the request: its repetition does nothing again. Empty for none.
        """
        return self._api.call(
            MadeKey, "POST", f"/gpu-workers/keys/{part(key_id)}/rotate", body=body, key=key
        )

    def submit_job(self, body: NewJob, *, key: str = "") -> WorkerJob:
        """Submit a job.

        It is on record when this answers, and in the cluster a moment later.

        Args:
            body: What is asked.
            key: Names the request: its repetition does nothing again. Empty for none.
        """
        return self._api.call(WorkerJob, "POST", "/gpu-workers/jobs/", body=body, key=key)
