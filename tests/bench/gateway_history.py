"""What a gateway has seen before it is measured: jobs, of which most have ended and are billed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from devctl_gateway.context import now
from devctl_gateway.schemas.jobs import NewJob, spec_of
from devctl_gateway.store import tables
from devctl_gateway.store.engine import begin, make_engine
from sqlalchemy import insert
from support.gateway_bodies import JOB
from support.servers import wait_until

from devctl.api.gpu_worker_job import NAMESPACE, PLURAL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from support.api import Api

Row = dict[str, Any]
_OPEN = 20
"""One of so many has not ended."""
_HOUR = 3600
_AMOUNTS = {"gpu": 1_200_000, "core": 30_000, "gigabyte": 250}
"""What an hour of such a job costs, in micro-units."""


@dataclass(frozen=True)
class History:
    """Jobs by account, the newest first."""

    jobs: dict[str, list[str]]
    waiting: list[str]
    """Those of all accounts that have not ended."""


async def remember(database: str, accounts: Sequence[str], count: int, nodes: list[str]) -> History:
    """Write jobs to the store: one a minute until now, in turn for each account.

    Args:
        database: SQLAlchemy's URL.
        accounts: IDs.
        count: Of jobs.
        nodes: Names of those that they ran on.
    """
    # Those that have not ended apart, as one statement has the same columns for all its rows.
    waiting, rows = list[Row](), {name: list[Row]() for name in ("jobs", "runs", "ledger", "audit")}
    found = History({account: [] for account in accounts}, [])
    for number in range(count):
        job_id, account = f"job-{number:012x}", accounts[number % len(accounts)]
        at, node = now() - timedelta(minutes=number), nodes[number % len(nodes)]
        found.jobs[account].append(job_id)
        rows["audit"].append(_submission(job_id, account, at))
        if number % _OPEN == 0:
            found.waiting.append(job_id)
            waiting.append(_job(job_id, account, at))
            continue
        rows["jobs"].append(_job(job_id, account, at) | _end(at, node))
        rows["runs"].append(_run(job_id, at, node))
        rows["ledger"] += _charges(job_id, account, at)
    engine = make_engine(database)
    async with begin(engine) as connection:
        await connection.execute(insert(tables.JOBS), waiting)
        for name, several in rows.items():
            await connection.execute(insert(tables.METADATA.tables[name]), several)
        await connection.exec_driver_sql("ANALYZE")
    await engine.dispose()
    return found


def _job(job_id: str, account: str, at: datetime) -> Row:
    return {
        "id": job_id,
        "account_id": account,
        "job_name": JOB["job_name"],
        "spec": spec_of(NewJob.model_validate(JOB), account, ""),
        "created_at": at,
        "reported": {},
    }


def _end(at: datetime, node: str) -> Row:
    final = {
        "phase": "Completed",
        "reason": "Completed",
        "message": "it has ended",
        "node": node,
        "startedAt": _text(at),
        "finishedAt": _text(at, _HOUR),
        "exitCode": 0,
    }
    return {"settled_at": at, "final": final}


def _submission(job_id: str, account: str, at: datetime) -> Row:
    what = {"actor": account, "action": "job.submit", "target": job_id}
    return {"at": at, "request_id": job_id, "details": {}, **what}


def _run(job_id: str, at: datetime, node: str) -> Row:
    times = {"started_at": at, "finished_at": at + timedelta(hours=1)}
    return {"pod_uid": f"uid-{job_id}", "job_id": job_id, "node_name": node, **times}


def _charges(job_id: str, account: str, at: datetime) -> list[Row]:
    of = {"account_id": account, "job_id": job_id, "reference": f"uid-{job_id}", "at": at}
    how = {"quantity": _HOUR, "note": ""}
    return [
        {**of, **how, "kind": kind, "price": amount, "amount": -amount}
        for kind, amount in _AMOUNTS.items()
    ]


def run_some(api: Api, waiting: Sequence[str], node: str) -> None:
    """Have jobs that the gateway has brought into the cluster run, every other one."""
    kind = f"{PLURAL}.imagepod.dev"
    for name in waiting:
        wait_until(lambda name=name: api.get(kind, name, NAMESPACE) is not None, f"{name} is there")  # type: ignore[misc]
    for name in waiting[::2]:
        pod = {"podUID": f"uid-{name}", "podName": name, "node": node, "startedAt": _text(now())}
        status = {"phase": "Running", "node": node, "startedAt": _text(now()), "runs": [pod]}
        api.patch(kind, name, {"status": status}, NAMESPACE, sub="status")


def _text(at: datetime, seconds: int = 0) -> str:
    return (at + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
