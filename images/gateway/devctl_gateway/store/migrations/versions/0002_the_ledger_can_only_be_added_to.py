"""The ledger, and what it is computed from, can only be added to."""

from __future__ import annotations

from collections.abc import Callable

from alembic import op

from devctl_gateway.store.append_only import TABLES, create, drop

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Forwards."""
    _execute(create)


def downgrade() -> None:
    """Back."""
    _execute(drop)


def _execute(statements: Callable[[str, str], list[str]]) -> None:
    for table in TABLES:
        for statement in statements(op.get_bind().dialect.name, table):
            op.execute(statement)
