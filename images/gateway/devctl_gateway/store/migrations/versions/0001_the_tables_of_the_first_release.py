"""The tables of the first release."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Forwards."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("issuer", sa.String(length=512), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("prepaid", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
        sa.UniqueConstraint("issuer", "subject", name="uq_accounts_issuer_subject"),
    )
    op.create_table(
        "audit",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("actor", sa.String(length=80), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("target", sa.String(length=80), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_table(
        "nodes",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("node_name", sa.String(length=253), nullable=False),
        sa.Column("hostname", sa.String(length=253), nullable=False),
        sa.Column("gpu_count", sa.Integer(), nullable=False),
        sa.Column("gpu_type", sa.String(length=255), nullable=False),
        sa.Column("gpu_memory_total", sa.Integer(), nullable=False),
        sa.Column("cpu_cores", sa.Integer(), nullable=False),
        sa.Column("memory_total", sa.Integer(), nullable=False),
        sa.Column("max_concurrent_jobs", sa.Integer(), nullable=False),
        sa.Column("maintenance", sa.Boolean(), nullable=False),
        sa.Column("registered_at", sa.DateTime(), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(), nullable=True),
        sa.Column("health_status", sa.String(length=16), nullable=True),
        sa.Column("reported", sa.JSON(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_nodes"),
        sa.UniqueConstraint("node_name", name="uq_nodes_node_name"),
    )
    op.create_table(
        "requests",
        sa.Column("actor", sa.String(length=80), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("answer", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("actor", "key", name="pk_requests"),
    )
    op.create_index("ix_requests_created_at", "requests", ["created_at"])
    op.create_table(
        "agents",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("node_id", sa.String(length=40), nullable=False),
        sa.Column("agent_version", sa.String(length=64), nullable=False),
        sa.Column("registered_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_agents_node_id"),
        sa.PrimaryKeyConstraint("id", name="pk_agents"),
        sa.UniqueConstraint("node_id", name="uq_agents_node_id"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("job_name", sa.String(length=255), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("cancelled_at", sa.DateTime(), nullable=True),
        sa.Column("reported", sa.JSON(), nullable=False),
        sa.Column("settled_at", sa.DateTime(), nullable=True),
        sa.Column("final", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_jobs_account_id"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_account_id_created_at_id", "jobs", ["account_id", "created_at", "id"])
    op.create_index("ix_jobs_settled_at", "jobs", ["settled_at"])
    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("account_id", sa.String(length=40), nullable=True),
        sa.Column("node_id", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=True),
        sa.Column("revoked_at", sa.DateTime(), nullable=True),
        sa.Column("last_used_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_keys_account_id"),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_keys_node_id"),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.UniqueConstraint("prefix", name="uq_keys_prefix"),
    )
    op.create_index("ix_keys_account_id", "keys", ["account_id"])
    op.create_index("ix_keys_node_id", "keys", ["node_id"])
    op.create_table(
        "prices",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("node_id", sa.String(length=40), nullable=False),
        sa.Column("valid_from", sa.DateTime(), nullable=False),
        sa.Column("gpu_hour", sa.BigInteger(), nullable=False),
        sa.Column("core_hour", sa.BigInteger(), nullable=False),
        sa.Column("gigabyte_hour", sa.BigInteger(), nullable=False),
        sa.Column("set_by", sa.String(length=40), nullable=True),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_prices_node_id"),
        sa.ForeignKeyConstraint(["set_by"], ["accounts.id"], name="fk_prices_set_by"),
        sa.PrimaryKeyConstraint("id", name="pk_prices"),
    )
    op.create_index("ix_prices_node_id_valid_from", "prices", ["node_id", "valid_from"])
    op.create_table(
        "registration_tokens",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("created_by", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=False),
        sa.Column("uses_left", sa.Integer(), nullable=False),
        sa.Column("revoked_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["created_by"], ["accounts.id"], name="fk_registration_tokens_created_by"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_registration_tokens"),
        sa.UniqueConstraint("prefix", name="uq_registration_tokens_prefix"),
    )
    op.create_table(
        "ledger",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("account_id", sa.String(length=40), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("reference", sa.String(length=80), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("quantity", sa.BigInteger(), nullable=False),
        sa.Column("price", sa.BigInteger(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_ledger_account_id"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_ledger_job_id"),
        sa.PrimaryKeyConstraint("id", name="pk_ledger"),
        sa.UniqueConstraint("kind", "reference", name="uq_ledger_kind_reference"),
    )
    op.create_index("ix_ledger_account_id_at_id", "ledger", ["account_id", "at", "id"])
    op.create_index("ix_ledger_job_id", "ledger", ["job_id"])
    op.create_table(
        "runs",
        sa.Column("pod_uid", sa.String(length=40), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("node_name", sa.String(length=253), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("finished_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_runs_job_id"),
        sa.PrimaryKeyConstraint("pod_uid", name="pk_runs"),
    )
    op.create_index("ix_runs_job_id", "runs", ["job_id"])


def downgrade() -> None:
    """Back."""
    op.drop_table("runs")
    op.drop_table("ledger")
    op.drop_table("registration_tokens")
    op.drop_table("prices")
    op.drop_table("keys")
    op.drop_table("jobs")
    op.drop_table("agents")
    op.drop_table("requests")
    op.drop_table("nodes")
    op.drop_table("audit")
    op.drop_table("accounts")
