"""The tables, the same in PostgreSQL and SQLite.

Times are UTC without a zone, money is in micro-units, sizes are in megabytes. What Kubernetes knows
(the state of jobs, what nodes have free) is not here; `final` has it of a job whose object is gone.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)
_ID = String(40)
_HASH = String(64)
# SQLite counts up only by itself in a column of its own type.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")

ACCOUNTS = Table(
    "accounts",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("issuer", String(512), nullable=False),
    Column("subject", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("prepaid", Boolean, nullable=False, default=False),
    Column("created_at", DateTime, nullable=False),
    UniqueConstraint("issuer", "subject"),
)
"""Who is billed: one per user of an issuer, made when they first come.

With `prepaid`, jobs need credit.
"""

KEYS = Table(
    "keys",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("prefix", String(16), nullable=False, unique=True),
    Column("hash", _HASH, nullable=False),
    Column("name", String(255), nullable=False),
    Column("account_id", _ID, ForeignKey("accounts.id")),
    Column("node_id", _ID, ForeignKey("nodes.id")),
    Column("created_at", DateTime, nullable=False),
    Column("expires_at", DateTime),
    Column("revoked_at", DateTime),
    Column("last_used_at", DateTime),
    Index(None, "account_id"),
    Index(None, "node_id"),
)
"""API keys of accounts or of nodes' agents: either account_id or node_id."""

REGISTRATION_TOKENS = Table(
    "registration_tokens",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("prefix", String(16), nullable=False, unique=True),
    Column("hash", _HASH, nullable=False),
    Column("created_by", _ID, ForeignKey("accounts.id"), nullable=False),
    Column("created_at", DateTime, nullable=False),
    Column("expires_at", DateTime, nullable=False),
    Column("uses_left", Integer, nullable=False),
    Column("revoked_at", DateTime),
)
"""What an agent registers its node with, once, unless more uses are allowed."""

NODES = Table(
    "nodes",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("node_name", String(253), nullable=False, unique=True),
    Column("hostname", String(253), nullable=False),
    Column("gpu_count", Integer, nullable=False),
    Column("gpu_type", String(255), nullable=False),
    Column("gpu_memory_total", Integer, nullable=False),
    Column("cpu_cores", Integer, nullable=False),
    Column("memory_total", Integer, nullable=False),
    Column("max_concurrent_jobs", Integer, nullable=False),
    Column("maintenance", Boolean, nullable=False, default=False),
    Column("registered_at", DateTime, nullable=False),
    Column("heartbeat_at", DateTime),
    Column("health_status", String(16)),
    Column("reported", JSON, nullable=False, default=dict),
    Column("version", Integer, nullable=False, default=1),
)
"""Registered nodes.

`reported` is what the last heartbeat said: nothing is billed or placed by it.
"""

AGENTS = Table(
    "agents",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("node_id", _ID, ForeignKey("nodes.id"), nullable=False, unique=True),
    Column("agent_version", String(64), nullable=False),
    Column("registered_at", DateTime, nullable=False),
)
"""The agent of each node."""

PRICES = Table(
    "prices",
    METADATA,
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("node_id", _ID, ForeignKey("nodes.id"), nullable=False),
    Column("valid_from", DateTime, nullable=False),
    Column("gpu_hour", BigInteger, nullable=False),
    Column("core_hour", BigInteger, nullable=False),
    Column("gigabyte_hour", BigInteger, nullable=False),
    Column("set_by", _ID, ForeignKey("accounts.id")),
    Index(None, "node_id", "valid_from"),
)
"""Prices of nodes, of which a run pays those that are valid when it starts. Only added to."""

JOBS = Table(
    "jobs",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("account_id", _ID, ForeignKey("accounts.id"), nullable=False),
    Column("job_name", String(255), nullable=False),
    Column("spec", JSON, nullable=False),
    Column("created_at", DateTime, nullable=False),
    Column("cancelled_at", DateTime),
    Column("reported", JSON, nullable=False, default=dict),
    Column("settled_at", DateTime),
    Column("final", JSON),
    Column("deleted_at", DateTime),
    Column("gpu_memory_required", Integer),
    Index(None, "account_id", "created_at", "id"),
    Index(None, "settled_at"),
)
"""Submissions. `spec` is the GPUWorkerJob's; `reported` what its node's agent says of it.

`gpu_memory_required` is what was asked for, of all GPUs together; None in rows from before it was
kept. One with `deleted_at` is not shown once it has ended.
"""

RUNS = Table(
    "runs",
    METADATA,
    Column("pod_uid", _ID, primary_key=True),
    Column("job_id", _ID, ForeignKey("jobs.id"), nullable=False),
    Column("node_name", String(253), nullable=False),
    Column("started_at", DateTime, nullable=False),
    Column("finished_at", DateTime, nullable=False),
    Index(None, "job_id"),
)
"""When the cluster saw a job's pods start and end, once both are known. Only added to."""

LEDGER = Table(
    "ledger",
    METADATA,
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("account_id", _ID, ForeignKey("accounts.id"), nullable=False),
    Column("at", DateTime, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("reference", String(80), nullable=False),
    Column("job_id", _ID, ForeignKey("jobs.id")),
    Column("quantity", BigInteger, nullable=False),
    Column("price", BigInteger, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("note", String(255), nullable=False, default=""),
    UniqueConstraint("kind", "reference"),
    Index(None, "account_id", "at", "id"),
    Index(None, "job_id"),
)
"""Charges and credits. Only added to; a trigger refuses changes.

`kind` is gpu, core or gigabyte (`reference` is the pod's UID, `quantity` what was held, in seconds)
or credit (`reference` is the request's). A charge has a negative `amount`.
"""

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("at", DateTime, nullable=False),
    Column("actor", String(80), nullable=False),
    Column("action", String(64), nullable=False),
    Column("target", String(80), nullable=False),
    Column("request_id", String(64), nullable=False),
    Column("details", JSON, nullable=False, default=dict),
    Index(None, "at"),
)
"""Who changed what. Only added to. No secret is ever in `details`."""

REQUESTS = Table(
    "requests",
    METADATA,
    Column("actor", String(80), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("fingerprint", _HASH, nullable=False),
    Column("created_at", DateTime, nullable=False),
    Column("status", Integer),
    Column("answer", JSON),
    Index(None, "created_at"),
)
"""Requests with an Idempotency-Key, and what they were answered."""
