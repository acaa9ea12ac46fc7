"""Who asks, as all endpoints see them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What somebody may do."""

    USER = "user"
    """Run jobs of their own."""
    OPERATOR = "operator"
    """Register, price and maintain nodes."""
    ADMIN = "admin"
    """All of that, accounts and credit."""
    NODE = "node"
    """Report for one node."""


@dataclass(frozen=True)
class Principal:
    """Somebody whose identity is proven.

    Attributes:
        id: Identifies them in the audit log and for limits: an account's ID, or a node's.
        name: For people.
        roles: What they may do.
        account_id: Whom their jobs are billed to; empty for nodes.
        node_id: The node that they report for; empty for accounts.
        key_id: The API key that they came with; empty if it was a JSON Web Token.
    """

    id: str
    name: str
    roles: frozenset[Role]
    account_id: str = ""
    node_id: str = ""
    key_id: str = ""
