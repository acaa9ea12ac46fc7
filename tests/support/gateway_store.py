"""The gateway's store on a real database."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from devctl_gateway.store import tables
from devctl_gateway.store.engine import begin, make_engine
from devctl_gateway.store.migrating import HEAD, migrate
from sqlalchemy import Table, insert

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

AT = datetime(2026, 5, 4, 12, 0, 0)  # noqa: DTZ001 - as tables have it
_JOB = {"account_id": "acc-1", "job_name": "a job", "spec": {"gpus": 1}, "created_at": AT}
_NODE = {
    "node_name": "one",
    "hostname": "one.example",
    "gpu_count": 2,
    "gpu_type": "RTX 4090",
    "gpu_memory_total": 24576,
    "cpu_cores": 16,
    "memory_total": 32768,
    "max_concurrent_jobs": 2,
    "registered_at": AT,
}
_SECRET = {"hash": "0" * 64, "created_at": AT}
_MONEY = {"quantity": 60, "price": 1_200_000, "amount": -20_000}
ROWS: dict[Table, dict[str, Any]] = {
    tables.ACCOUNTS: {
        "id": "acc-1",
        "issuer": "i",
        "subject": "s",
        "name": "Ada",
        "created_at": AT,
    },
    tables.NODES: {"id": "gpu-1", **_NODE},
    tables.AGENTS: {"id": "agent-1", "node_id": "gpu-1", "agent_version": "1", "registered_at": AT},
    tables.KEYS: {"id": "key-1", "prefix": "k", "name": "mine", "account_id": "acc-1", **_SECRET},
    tables.REGISTRATION_TOKENS: {
        "id": "tok-1",
        "prefix": "t",
        "created_by": "acc-1",
        **_SECRET,
        "expires_at": AT,
        "uses_left": 1,
    },
    tables.PRICES: {
        "node_id": "gpu-1",
        "valid_from": AT,
        "gpu_hour": 1_200_000,
        "core_hour": 30_000,
        "gigabyte_hour": 4_000,
    },
    tables.JOBS: {"id": "job-1", **_JOB},
    tables.RUNS: {
        "pod_uid": "uid-1",
        "job_id": "job-1",
        "node_name": "one",
        "started_at": AT,
        "finished_at": AT,
    },
    tables.LEDGER: {
        "account_id": "acc-1",
        "at": AT,
        "kind": "gpu",
        "reference": "uid-1",
        "job_id": "job-1",
        **_MONEY,
    },
    tables.AUDIT: {
        "at": AT,
        "actor": "acc-1",
        "action": "create",
        "target": "job-1",
        "request_id": "r",
    },
    tables.REQUESTS: {"actor": "acc-1", "key": "k", "fingerprint": "0" * 64, "created_at": AT},
}
"""A row of every table, in the order in which they may be added."""


def sqlite_url(folder: Path) -> str:
    """The URL of a database in a folder."""
    return f"sqlite+aiosqlite:///{folder / 'gateway.db'}"


@asynccontextmanager
async def made(url: str, to: str = HEAD) -> AsyncIterator[AsyncEngine]:
    """A database at a revision; its connections are closed in the end."""
    engine = make_engine(url)
    try:
        await migrate(engine, to)
        yield engine
    finally:
        await engine.dispose()


async def fill(engine: AsyncEngine) -> None:
    """Add a row to every table."""
    async with begin(engine) as connection:
        for table, row in ROWS.items():
            await connection.execute(insert(table).values(row))
