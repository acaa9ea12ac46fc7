"""API keys, of the caller's account or of nodes."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Request, Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.errors import ConflictError, ForbiddenError, NotFoundError
from devctl_gateway.http.audit import record
from devctl_gateway.http.context import Inside
from devctl_gateway.http.idempotency import Answer, Idempotent
from devctl_gateway.http.paging import Page, next_cursor
from devctl_gateway.identity import keys as identity_keys
from devctl_gateway.identity.dependencies import Caller
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.schemas.keys import DAY, Key, MadeKey, NewKey, Rotation
from devctl_gateway.schemas.page import PageOf
from devctl_gateway.schemas.text import Id
from devctl_gateway.settings import PREFIX
from devctl_gateway.store import keys
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.keys import Owner

router = APIRouter(prefix=PREFIX, tags=["keys"])
_LASTS = 90 * DAY
"""Seconds that an account's key is valid, unless said."""
_KeyId = Annotated[Id, Path(description="The key's ID.")]


@router.post("/keys/", status_code=HTTPStatus.CREATED, response_model=MadeKey)
async def create_key(new: NewKey, caller: Caller, attempt: Idempotent) -> Response:
    """Make a key, which is shown this once.

    An account's key acts as a user, whatever other roles its account has. A key cannot make keys:
    that needs a login.
    """
    if caller.key_id:
        raise ForbiddenError("an API key cannot make others", "log in, and use that token")
    if new.node_id and Role.OPERATOR not in caller.roles:
        raise ForbiddenError("keys of nodes need the role `operator`", "ask an operator of nodes")
    now = attempt.context.clock()
    seconds = new.expires_in_seconds or (None if new.node_id else _LASTS)
    owner = Owner(node_id=new.node_id) if new.node_id else Owner(caller.account_id)
    async with begin(attempt.context.engine) as connection:
        if earlier := await attempt.earlier(connection, caller.id):
            return earlier
        if new.node_id and not await keys.has_node(connection, new.node_id):
            raise NotFoundError(f"there is no node `{new.node_id}`")
        made = await identity_keys.issue(
            connection,
            owner,
            name=new.name,
            now=now,
            expires_at=now + timedelta(seconds=seconds) if seconds else None,
        )
        details = {"node_id": new.node_id} if new.node_id else {}
        await record(connection, attempt.request, caller.id, "key.create", made.id, **details)
        answer = Answer(await _made(connection, made), shown_once="key")
        return await attempt.answer(connection, caller.id, answer)


@router.get("/keys/")
async def list_keys(
    caller: Caller,
    inside: Inside,
    page: Page,
    node_id: Annotated[Id | None, Query(description="Keys of this node; operators only.")] = None,
) -> PageOf[Key]:
    """The caller's keys, or a node's, the newest first; those that have ended, too."""
    of_node = node_id or caller.node_id
    if of_node != caller.node_id and Role.OPERATOR not in caller.roles:
        raise ForbiddenError("keys of nodes need the role `operator`", "ask an operator of nodes")
    async with connect(inside.engine) as connection:
        rows = await keys.page(
            connection,
            Owner(node_id=of_node) if of_node else Owner(caller.account_id),
            after=page.after_time(),
            limit=page.limit + 1,
        )
    return PageOf[Key](
        items=[Key(**row) for row in rows[: page.limit]],
        next_cursor=next_cursor(rows, page.limit, lambda row: (row["created_at"], row["id"])),
    )


@router.post("/keys/{key_id}/rotate", status_code=HTTPStatus.CREATED, response_model=MadeKey)
async def rotate_key(
    key_id: _KeyId,
    caller: Caller,
    attempt: Idempotent,
    rotation: Annotated[Rotation | None, Body()] = None,
) -> Response:
    """Make a key in a valid one's place, which stays valid for ten minutes unless said.

    A key can be rotated with itself. The new one is valid for as long as the old one was made for.
    """
    overlap = timedelta(seconds=(rotation or Rotation()).overlap_seconds)
    now = attempt.context.clock()
    async with begin(attempt.context.engine) as connection:
        if earlier := await attempt.earlier(connection, caller.id):
            return earlier
        key = await _key(connection, caller, key_id)
        if not identity_keys.valid(key, now):
            raise ConflictError(f"the key `{key_id}` has ended", "make a new one")
        made = await identity_keys.rotate(connection, key, now, overlap=overlap)
        await record(connection, attempt.request, caller.id, "key.rotate", key_id, into=made.id)
        answer = Answer(await _made(connection, made), shown_once="key")
        return await attempt.answer(connection, caller.id, answer)


@router.delete("/keys/{key_id}", status_code=HTTPStatus.NO_CONTENT)
async def revoke_key(request: Request, key_id: _KeyId, caller: Caller, inside: Inside) -> None:
    """End a key now; nothing if it has ended already."""
    async with begin(inside.engine) as connection:
        await _key(connection, caller, key_id)
        if await keys.revoke(connection, key_id, inside.clock()):
            await record(connection, request, caller.id, "key.revoke", key_id)


async def _key(connection: AsyncConnection, caller: Principal, key_id: str) -> RowMapping:
    """A key that the caller may change, which an API key may with itself alone.

    With a login: the account's own, an operator any of nodes, an admin all.

    Raises:
        NotFoundError: There is none, or it is somebody else's.
        ForbiddenError: It is the caller's, and they came with another one.
    """
    key = await keys.get(connection, key_id)
    if key is None or not _may_see(caller, key):
        raise NotFoundError(f"there is no key `{key_id}`", "`GET keys/` lists yours")
    if caller.key_id and caller.key_id != key_id:
        raise ForbiddenError("an API key changes itself alone", "log in, and use that token")
    return key


def _may_see(caller: Principal, key: RowMapping) -> bool:
    if caller.node_id:
        return bool(key["node_id"] == caller.node_id)
    if key["node_id"] is not None:
        return Role.OPERATOR in caller.roles
    return key["account_id"] == caller.account_id or Role.ADMIN in caller.roles


async def _made(connection: AsyncConnection, made: identity_keys.Issued) -> MadeKey:
    key = await keys.get(connection, made.id)
    if key is None:
        raise NotFoundError(f"there is no key `{made.id}`")
    return MadeKey(**key, key=made.text)
