"""Identifiers of what the store keeps."""

from __future__ import annotations

import secrets
from typing import Literal

Kind = Literal["acc", "agent", "credit", "gpu", "job", "key", "tok"]
"""Accounts, agents, credit, nodes, jobs, API keys, registration tokens."""


def new_id(kind: Kind) -> str:
    """A new identifier, such as `job-0f3a9c51d2e4`; for jobs and nodes also the name of an object.

    48 random bits: among a million there is one pair in 500 lists, which a primary key refuses.
    """
    return f"{kind}-{secrets.token_hex(6)}"
