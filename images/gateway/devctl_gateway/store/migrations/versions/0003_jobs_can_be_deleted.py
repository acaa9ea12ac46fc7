"""Jobs can be deleted: their rows stay, as the ledger refers to them, and are shown no more.

Back, jobs that were deleted are shown again.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Forwards."""
    op.add_column("jobs", sa.Column("deleted_at", sa.DateTime(), nullable=True))


def downgrade() -> None:
    """Back."""
    op.drop_column("jobs", "deleted_at")
