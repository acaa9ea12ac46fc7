"""Accounts: one's own, and for admins all."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.errors import NotFoundError
from devctl_gateway.http import etags
from devctl_gateway.http.audit import record
from devctl_gateway.http.context import Inside
from devctl_gateway.http.paging import Page, next_cursor
from devctl_gateway.identity.dependencies import require
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.schemas.accounts import Account, AccountChange, Me
from devctl_gateway.schemas.page import PageOf
from devctl_gateway.schemas.text import Id, Line
from devctl_gateway.settings import PREFIX
from devctl_gateway.store import accounts
from devctl_gateway.store.engine import begin, connect

router = APIRouter(prefix=f"{PREFIX}/accounts", tags=["accounts"])
_User = Annotated[Principal, Depends(require(Role.USER))]
_Admin = Annotated[Principal, Depends(require(Role.ADMIN))]
_AccountId = Annotated[Id, Path(description="The account's ID.")]


@router.get("/me", response_model=Me)
async def my_account(request: Request, caller: _User, inside: Inside) -> Response:
    """The caller's account, and what they may do."""
    async with connect(inside.engine) as connection:
        account = await _account(connection, caller.account_id)
    return etags.answer(request, Me(**account, roles=sorted(caller.roles)))


@router.get("/")
async def list_accounts(
    _: _Admin,
    inside: Inside,
    page: Page,
    name: Annotated[Line | None, Query(description="Only accounts of this name.")] = None,
) -> PageOf[Account]:
    """All accounts, the newest first."""
    async with connect(inside.engine) as connection:
        rows = await accounts.page(
            connection, name=name, after=page.after_time(), limit=page.limit + 1
        )
    return PageOf[Account](
        items=[Account(**row) for row in rows[: page.limit]],
        next_cursor=next_cursor(rows, page.limit, lambda row: (row["created_at"], row["id"])),
    )


@router.get("/{account_id}", response_model=Account)
async def get_account(
    request: Request, account_id: _AccountId, _: _Admin, inside: Inside
) -> Response:
    """An account."""
    async with connect(inside.engine) as connection:
        account = await _account(connection, account_id)
    return etags.answer(request, Account(**account))


@router.patch("/{account_id}", response_model=Account)
async def change_account(
    request: Request, account_id: _AccountId, change: AccountChange, caller: _Admin, inside: Inside
) -> Response:
    """Say whether an account's jobs need credit. With If-Match, only if it has not changed."""
    async with begin(inside.engine) as connection:
        account = Account(**await _account(connection, account_id))
        etags.check_unchanged(request, account)
        changed = account.model_copy(update={"prepaid": change.prepaid})
        if changed != account:
            await accounts.set_prepaid(connection, account_id, prepaid=change.prepaid)
            await record(
                connection,
                request,
                caller.id,
                "account.change",
                account_id,
                prepaid=change.prepaid,
            )
    return etags.changed(changed)


async def _account(connection: AsyncConnection, account_id: str) -> RowMapping:
    account = await accounts.get(connection, account_id)
    if account is None:
        raise NotFoundError(f"there is no account `{account_id}`")
    return account
