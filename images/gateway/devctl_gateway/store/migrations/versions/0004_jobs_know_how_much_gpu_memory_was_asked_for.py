"""Jobs know how much GPU memory was asked for: of each GPU, it is rounded up.

Jobs from before, and all of them once one goes back, answer with what their GPUs have together.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Forwards."""
    op.add_column("jobs", sa.Column("gpu_memory_required", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Back."""
    op.drop_column("jobs", "gpu_memory_required")
