"""API keys: their hashes, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import RowMapping, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.elements import ColumnElement

from devctl_gateway.store.rows import page_of
from devctl_gateway.store.tables import ACCOUNTS, KEYS, NODES

_TABLE = KEYS.c


async def has_node(connection: AsyncConnection, node_id: str) -> bool:
    """Whether there is a node that a key could be of."""
    return await connection.scalar(select(NODES.c.id).where(NODES.c.id == node_id)) is not None


@dataclass(frozen=True)
class Owner:
    """Whose a key is: an account's, or a node's."""

    account_id: str | None = None
    node_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is neither, or both."""
        if (self.account_id is None) == (self.node_id is None):
            raise ValueError("a key is either an account's or a node's")


@dataclass(frozen=True)
class NewKey:
    """A key to be remembered.

    Attributes:
        id: Its ID.
        prefix: By which it is found.
        hash: SHA-256 of its secret, in hexadecimal.
        name: What it is for.
        created_at: When it is made.
        expires_at: When it ends; None for never.
    """

    id: str
    prefix: str
    hash: str
    name: str
    created_at: datetime
    expires_at: datetime | None


async def add(connection: AsyncConnection, owner: Owner, new: NewKey) -> None:
    """Remember a key."""
    await connection.execute(insert(KEYS).values(**asdict(owner), **asdict(new)))


async def find(connection: AsyncConnection, prefix: str) -> RowMapping | None:
    """The key with a prefix, valid or not, with `holder`: the name of its account or node."""
    query = (
        select(KEYS, func.coalesce(ACCOUNTS.c.name, NODES.c.node_name).label("holder"))
        .outerjoin(ACCOUNTS, ACCOUNTS.c.id == _TABLE.account_id)
        .outerjoin(NODES, NODES.c.id == _TABLE.node_id)
        .where(_TABLE.prefix == prefix)
    )
    return (await connection.execute(query)).mappings().one_or_none()


async def get(connection: AsyncConnection, key_id: str) -> RowMapping | None:
    """A key, valid or not."""
    found = await connection.execute(select(KEYS).where(_TABLE.id == key_id))
    return found.mappings().one_or_none()


async def page(
    connection: AsyncConnection,
    owner: Owner,
    *,
    after: tuple[datetime, str] | None,
    limit: int,
) -> Sequence[RowMapping]:
    """The keys of an owner, the newest first.

    Args:
        connection: To the database.
        owner: Whose.
        after: created_at and ID of the last one of the page before.
        limit: Rows at most.
    """
    query = select(KEYS).where(_of(owner))
    by = (_TABLE.created_at, _TABLE.id)
    return await page_of(connection, query, by, after=after, limit=limit)


async def count_valid(connection: AsyncConnection, owner: Owner, now: datetime) -> int:
    """How many keys of an owner are valid."""
    query = select(func.count()).where(
        _of(owner),
        _TABLE.revoked_at.is_(None),
        or_(_TABLE.expires_at.is_(None), _TABLE.expires_at > now),
    )
    return int(await connection.scalar(query) or 0)


async def expire(connection: AsyncConnection, key_id: str, at: datetime) -> None:
    """Have a key end at a time, unless it ends before."""
    await connection.execute(
        update(KEYS)
        .where(_TABLE.id == key_id, or_(_TABLE.expires_at.is_(None), _TABLE.expires_at > at))
        .values(expires_at=at)
    )


async def revoke(connection: AsyncConnection, key_id: str, now: datetime) -> bool:
    """End a key: whether it was not ended before."""
    ended = await connection.execute(
        update(KEYS).where(_TABLE.id == key_id, _TABLE.revoked_at.is_(None)).values(revoked_at=now)
    )
    return ended.rowcount == 1


async def revoke_of_node(connection: AsyncConnection, node_id: str, now: datetime) -> int:
    """End all keys of a node: how many were valid."""
    ended = await connection.execute(
        update(KEYS)
        .where(_TABLE.node_id == node_id, _TABLE.revoked_at.is_(None))
        .values(revoked_at=now)
    )
    return ended.rowcount


async def note_use(connection: AsyncConnection, key_id: str, now: datetime) -> None:
    """Note when a key was used."""
    await connection.execute(update(KEYS).where(_TABLE.id == key_id).values(last_used_at=now))


def _of(owner: Owner) -> ColumnElement[bool]:
    if owner.account_id is None:
        return _TABLE.node_id == owner.node_id
    return _TABLE.account_id == owner.account_id
