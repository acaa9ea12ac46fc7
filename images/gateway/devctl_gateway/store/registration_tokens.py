"""Registration tokens: their hashes, and how often they can still be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import RowMapping, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.store.rows import page_of
from devctl_gateway.store.tables import REGISTRATION_TOKENS

_TABLE = REGISTRATION_TOKENS.c


@dataclass(frozen=True)
class NewToken:
    """A token to be remembered.

    Attributes:
        id: Its ID.
        prefix: By which it is found.
        hash: SHA-256 of its secret, in hexadecimal.
        created_by: The account that made it.
        created_at: When.
        expires_at: When it ends.
        uses_left: How many nodes it registers.
    """

    id: str
    prefix: str
    hash: str
    created_by: str
    created_at: datetime
    expires_at: datetime
    uses_left: int


async def add(connection: AsyncConnection, new: NewToken) -> None:
    """Remember a token."""
    await connection.execute(insert(REGISTRATION_TOKENS).values(**asdict(new)))


async def find(connection: AsyncConnection, prefix: str) -> RowMapping | None:
    """The token with a prefix, whether it is valid or not."""
    found = await connection.execute(select(REGISTRATION_TOKENS).where(_TABLE.prefix == prefix))
    return found.mappings().one_or_none()


async def get(connection: AsyncConnection, token_id: str) -> RowMapping | None:
    """A token."""
    found = await connection.execute(select(REGISTRATION_TOKENS).where(_TABLE.id == token_id))
    return found.mappings().one_or_none()


async def page(
    connection: AsyncConnection, *, after: tuple[datetime, str] | None, limit: int
) -> Sequence[RowMapping]:
    """Tokens, the newest first.

    Args:
        connection: To the database.
        after: created_at and ID of the last one of the page before.
        limit: Rows at most.
    """
    query = select(REGISTRATION_TOKENS)
    by = (_TABLE.created_at, _TABLE.id)
    return await page_of(connection, query, by, after=after, limit=limit)


async def spend(connection: AsyncConnection, token_id: str, now: datetime) -> bool:
    """Use a token once: whether it could be. Of many at once, no more than are left can."""
    spent = await connection.execute(
        update(REGISTRATION_TOKENS)
        .where(
            _TABLE.id == token_id,
            _TABLE.uses_left > 0,
            _TABLE.expires_at > now,
            _TABLE.revoked_at.is_(None),
        )
        .values(uses_left=_TABLE.uses_left - 1)
    )
    return spent.rowcount == 1


async def revoke(connection: AsyncConnection, token_id: str, now: datetime) -> bool:
    """End a token: whether it was not ended before."""
    ended = await connection.execute(
        update(REGISTRATION_TOKENS)
        .where(_TABLE.id == token_id, _TABLE.revoked_at.is_(None))
        .values(revoked_at=now)
    )
    return ended.rowcount == 1
