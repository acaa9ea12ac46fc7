"""How Alembic runs a revision: on a connection that its caller gives it."""

from __future__ import annotations

from alembic import context

from devctl_gateway.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    # SQLite changes a table by copying it.
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
