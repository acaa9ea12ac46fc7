"""Registration tokens, with which agents register their nodes."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Request, Response

from devctl_gateway.errors import NotFoundError
from devctl_gateway.http.audit import record
from devctl_gateway.http.context import Inside
from devctl_gateway.http.idempotency import Answer, Idempotent
from devctl_gateway.http.paging import Page, next_cursor
from devctl_gateway.identity.bearer import REGISTRATION
from devctl_gateway.identity.dependencies import require
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.identity.secrets import make
from devctl_gateway.schemas.keys import (
    MadeRegistrationToken,
    NewRegistrationToken,
    RegistrationToken,
)
from devctl_gateway.schemas.page import PageOf
from devctl_gateway.schemas.text import Id
from devctl_gateway.settings import PREFIX
from devctl_gateway.store import registration_tokens as tokens
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.ids import new_id
from devctl_gateway.store.registration_tokens import NewToken

router = APIRouter(prefix=f"{PREFIX}/registration-tokens", tags=["registration tokens"])
_Operator = Annotated[Principal, Depends(require(Role.OPERATOR))]


@router.post("/", status_code=HTTPStatus.CREATED, response_model=MadeRegistrationToken)
async def create_registration_token(
    caller: _Operator,
    attempt: Idempotent,
    wanted: Annotated[NewRegistrationToken | None, Body()] = None,
) -> Response:
    """Make a token, which is shown this once.

    Unless said, it registers one node, within an hour.
    """
    wanted = wanted or NewRegistrationToken()
    made, now = make(REGISTRATION), attempt.context.clock()
    new = NewToken(
        new_id("tok"),
        made.prefix,
        made.digest,
        caller.account_id,
        now,
        now + timedelta(seconds=wanted.expires_in_seconds),
        wanted.uses,
    )
    async with begin(attempt.context.engine) as connection:
        if earlier := await attempt.earlier(connection, caller.id):
            return earlier
        await tokens.add(connection, new)
        await record(
            connection,
            attempt.request,
            caller.id,
            "registration_token.create",
            new.id,
            uses=wanted.uses,
        )
        shown = MadeRegistrationToken(
            id=new.id,
            prefix=new.prefix,
            created_by=new.created_by,
            created_at=new.created_at,
            expires_at=new.expires_at,
            uses_left=new.uses_left,
            token=made.text,
        )
        return await attempt.answer(connection, caller.id, Answer(shown, shown_once="token"))


@router.get("/")
async def list_registration_tokens(
    _: _Operator, inside: Inside, page: Page
) -> PageOf[RegistrationToken]:
    """All tokens, the newest first; those that have ended, too."""
    async with connect(inside.engine) as connection:
        rows = await tokens.page(connection, after=page.after_time(), limit=page.limit + 1)
    return PageOf[RegistrationToken](
        items=[RegistrationToken(**row) for row in rows[: page.limit]],
        next_cursor=next_cursor(rows, page.limit, lambda row: (row["created_at"], row["id"])),
    )


@router.delete("/{token_id}", status_code=HTTPStatus.NO_CONTENT)
async def revoke_registration_token(
    request: Request,
    token_id: Annotated[Id, Path(description="The token's ID.")],
    caller: _Operator,
    inside: Inside,
) -> None:
    """End a token now; nothing if it has ended already. Nodes registered with it stay."""
    async with begin(inside.engine) as connection:
        if await tokens.get(connection, token_id) is None:
            raise NotFoundError(f"there is no registration token `{token_id}`")
        if await tokens.revoke(connection, token_id, inside.clock()):
            await record(connection, request, caller.id, "registration_token.revoke", token_id)
