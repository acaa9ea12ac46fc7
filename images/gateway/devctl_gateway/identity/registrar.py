"""Who may register a node."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.errors import UnauthenticatedError
from devctl_gateway.store import registration_tokens


@dataclass(frozen=True)
class Registration:
    """Leave to register a node.

    Attributes:
        by: Whose, for the audit log: an account's ID, a registration token's, or a service account.
        node_name: The one node that may be registered; None for any.
        token_id: The registration token that is used up by it; empty for others.
    """

    by: str
    node_name: str | None = None
    token_id: str = ""

    async def spend(self, connection: AsyncConnection, now: datetime) -> None:
        """Use up one use of a registration token, in the transaction that registers the node.

        Nothing for others.

        Raises:
            UnauthenticatedError: Somebody else was first, or it has expired meanwhile.
        """
        if self.token_id and not await registration_tokens.spend(connection, self.token_id, now):
            raise UnauthenticatedError(
                "this registration token has been used up, has expired or is revoked",
                "ask an operator of nodes for another one",
            )
