"""Accounts: one per user of an issuer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import RowMapping, bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.store.rows import page_of
from devctl_gateway.store.tables import ACCOUNTS
from devctl_gateway.store.unique import add_once

_TABLE = ACCOUNTS.c
_ONE = select(ACCOUNTS).where(_TABLE.id == bindparam("account_id"))


@dataclass(frozen=True)
class NewAccount:
    """An account that may be made.

    Attributes:
        id: Its ID.
        issuer: Who vouches for the user.
        subject: Whom the issuer knows under this.
        name: For people.
        created_at: When it is made.
    """

    id: str
    issuer: str
    subject: str
    name: str
    created_at: datetime


async def get(connection: AsyncConnection, account_id: str) -> RowMapping | None:
    """An account."""
    found = await connection.execute(_ONE, {"account_id": account_id})
    return found.mappings().one_or_none()


async def find(connection: AsyncConnection, issuer: str, subject: str) -> RowMapping | None:
    """The account of a user."""
    found = await connection.execute(
        select(ACCOUNTS).where(_TABLE.issuer == issuer, _TABLE.subject == subject)
    )
    return found.mappings().one_or_none()


async def ensure(connection: AsyncConnection, new: NewAccount) -> RowMapping:
    """The account of a user, made if there is none."""
    if (known := await find(connection, new.issuer, new.subject)) is not None:
        return known
    await add_once(connection, ACCOUNTS, **asdict(new), prepaid=False)
    # Whoever was first.
    found = await connection.execute(
        select(ACCOUNTS).where(_TABLE.issuer == new.issuer, _TABLE.subject == new.subject)
    )
    return found.mappings().one()


async def rename(connection: AsyncConnection, account_id: str, name: str) -> None:
    """Show an account under another name."""
    await connection.execute(update(ACCOUNTS).where(_TABLE.id == account_id).values(name=name))


async def set_prepaid(connection: AsyncConnection, account_id: str, *, prepaid: bool) -> None:
    """Say whether jobs of an account need credit."""
    await connection.execute(
        update(ACCOUNTS).where(_TABLE.id == account_id).values(prepaid=prepaid)
    )


async def page(
    connection: AsyncConnection,
    *,
    name: str | None,
    after: tuple[datetime, str] | None,
    limit: int,
) -> Sequence[RowMapping]:
    """Accounts, the newest first.

    Args:
        connection: To the database.
        name: Only those of this name; None for all.
        after: created_at and ID of the last one of the page before.
        limit: Rows at most.
    """
    query = select(ACCOUNTS)
    if name is not None:
        query = query.where(_TABLE.name == name)
    by = (_TABLE.created_at, _TABLE.id)
    return await page_of(connection, query, by, after=after, limit=limit)
