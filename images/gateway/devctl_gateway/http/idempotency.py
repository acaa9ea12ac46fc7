"""Requests that can be repeated: the header Idempotency-Key.

What a request is answered is kept in the transaction that does what it asks. So a repetition does
nothing again, and if the first one failed, it does what that did not. While the first one is being
answered, a repetition waits for it, up to five seconds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any, cast

from fastapi import Depends, Header, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from devctl_gateway.context import Context
from devctl_gateway.http.problems import Problem
from devctl_gateway.store import requests

REPLAYED = "Idempotency-Replayed"
"""Header of an answer that was given before."""
_KEY = re.compile(r"[!-~]{0,255}")
_LOCKED = "55P03"
"""PostgreSQL's code for a lock that was waited for in vain."""


@dataclass(frozen=True)
class Answer:
    """What is answered to a request.

    Attributes:
        body: What is answered.
        status: HTTP's.
        headers: Of the answer.
        shown_once: The one field that is never kept, being a secret: null in repetitions.
    """

    body: BaseModel
    status: HTTPStatus = HTTPStatus.CREATED
    headers: Mapping[str, str] = field(default_factory=dict)
    shown_once: str = ""


@dataclass(frozen=True)
class Attempt:
    """A request that may be a repetition.

    Attributes:
        request: The request.
        context: Of the process.
        key: What its client calls it; empty if it is not to be repeated.
        fingerprint: Of what it asks.
    """

    request: Request
    context: Context
    key: str = ""
    fingerprint: str = ""

    async def earlier(self, connection: AsyncConnection, actor: str) -> JSONResponse | None:
        """The answer to an earlier request with the same key; None if this is the first.

        Args:
            connection: In the transaction that does what is asked.
            actor: The ID of who asks.

        Raises:
            Problem: The earlier one asked something else (422), or is still being answered (409).
        """
        if not self.key:
            return None
        try:
            found = await requests.begin(
                connection,
                actor=actor,
                key=self.key,
                fingerprint=self.fingerprint,
                now=self.context.clock(),
            )
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", "") == _LOCKED:
                raise _in_progress() from None
            raise
        if found is None:
            return None
        if found["fingerprint"] != self.fingerprint:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "Idempotency-Key reused",
                "an earlier request with this Idempotency-Key asked something else: use a new one",
            )
        if found["status"] is None:
            raise _in_progress()
        kept = found["answer"]
        return JSONResponse(kept["body"], found["status"], {**kept["headers"], REPLAYED: "true"})

    async def answer(self, connection: AsyncConnection, actor: str, answer: Answer) -> JSONResponse:
        """Answer, and keep that for repetitions.

        Args:
            connection: In the transaction that does what is asked.
            actor: The ID of who asks.
            answer: What is answered.
        """
        body: dict[str, Any] = answer.body.model_dump(mode="json")
        headers = dict(answer.headers)
        if self.key:
            kept = {**body, answer.shown_once: None} if answer.shown_once else body
            await requests.end(
                connection,
                actor=actor,
                key=self.key,
                status=int(answer.status),
                answer={"body": kept, "headers": headers},
            )
        return JSONResponse(body, answer.status, headers)


def _in_progress() -> Problem:
    return Problem(
        HTTPStatus.CONFLICT,
        "Request in progress",
        "an earlier request with this Idempotency-Key is still being answered: repeat it soon",
        headers={"Retry-After": "1"},
    )


def fingerprint(method: str, path: str, query: str, body: bytes) -> str:
    """What tells requests apart that ask different things."""
    digest = hashlib.sha256()
    for part in (method.encode(), path.encode(), query.encode(), body):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


async def _attempt(
    request: Request,
    idempotency_key: Annotated[
        str,
        Header(
            max_length=255,
            description="A name for this request: if it is repeated, it is done once. "
            "Kept for a day.",
        ),
    ] = "",
) -> Attempt:
    context = cast("Context", request.app.state.context)
    if not _KEY.fullmatch(idempotency_key):
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "Invalid Idempotency-Key",
            "Idempotency-Key is to be visible ASCII without spaces: send for example a UUID",
        )
    if not idempotency_key:
        return Attempt(request, context)
    url = request.url
    found = fingerprint(request.method, url.path, url.query, await request.body())
    return Attempt(request, context, idempotency_key, found)


Idempotent = Annotated[Attempt, Depends(_attempt)]
"""The parameter of an endpoint that creates something."""
