"""Errors as answers: problem details for HTTP APIs (RFC 9457)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from devctl_gateway.errors import (
    ConflictError,
    ForbiddenError,
    GatewayError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnauthenticatedError,
    UnavailableError,
)
from devctl_gateway.http.problem_schema import MEDIA_TYPE

_TYPES = "tag:imagepod.dev,2025:"
"""What the types of problems begin with that say more than their status."""
_STATUS = {
    UnauthenticatedError: HTTPStatus.UNAUTHORIZED,
    ForbiddenError: HTTPStatus.FORBIDDEN,
    NotFoundError: HTTPStatus.NOT_FOUND,
    ConflictError: HTTPStatus.CONFLICT,
    InvalidError: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooManyRequestsError: HTTPStatus.TOO_MANY_REQUESTS,
    UnavailableError: HTTPStatus.SERVICE_UNAVAILABLE,
}
_RETRY_SECONDS = 5
"""When to ask again if something does not answer."""
_MOST_ERRORS = 20
_LONGEST_NAME = 100
"""Of a field in an answer: unknown ones have names of the client's."""


class Problem(Exception):  # noqa: N818 - RFC 9457's word
    """An answer that says what is wrong.

    Args:
        status: HTTP's.
        title: The sort of problem, the same each time; empty for HTTP's own words.
        detail: What happened this time, and what to do.
        headers: Of the answer.
        extra: More members for programs.
    """

    def __init__(
        self,
        status: int,
        title: str = "",
        detail: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        """Keep what is to be answered."""
        self.status = HTTPStatus(status)
        self.title, self.detail = title or self.status.phrase, detail
        self.headers, self.extra = dict(headers or {}), extra
        super().__init__(detail or self.title)

    @property
    def type(self) -> str:
        """What programs tell problems apart by; `about:blank` if the status says it all."""
        if self.title == self.status.phrase:
            return "about:blank"
        return _TYPES + re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    def response(self, scope: Scope) -> Response:
        """The answer to a request."""
        body = {
            **self.extra,
            "type": self.type,
            "title": self.title,
            "status": int(self.status),
            "detail": self.detail,
            "instance": quote(scope["path"], safe="/:@-._~!$&'()*+,;=", errors="replace"),
            "request_id": scope.get("state", {}).get("request_id", ""),
        }
        return Response(json.dumps(body), self.status, self.headers, MEDIA_TYPE)


def problem_of(error: GatewayError) -> Problem:
    """What an error from below HTTP is answered with.

    >>> problem_of(NotFoundError("there is no job `job-1`")).status.value
    404
    """
    found = next((_STATUS[each] for each in type(error).__mro__ if each in _STATUS), None)
    if found is None:
        return unexpected()
    headers: dict[str, str] = {}
    if isinstance(error, TooManyRequestsError):
        headers["Retry-After"] = str(error.retry_after)
    elif isinstance(error, UnavailableError):
        headers["Retry-After"] = str(_RETRY_SECONDS)
    elif isinstance(error, UnauthenticatedError):
        headers["WWW-Authenticate"] = "Bearer"
    detail = f"{error.message}; {error.fix}" if error.fix else error.message
    return Problem(found, "", detail, headers=headers)


def unexpected() -> Problem:
    """What is answered to a mistake of ours: nothing of what is inside."""
    return Problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "",
        "the server has made a mistake: repeat the request, and report the request_id if it stays",
    )


def invalid(errors: list[Any]) -> Problem:
    """What is answered to fields that are not valid: their paths, and nothing that was in them."""
    shown = [
        {"field": field_path(each["loc"]), "message": each["msg"], "code": each["type"]}
        for each in errors[:_MOST_ERRORS]
    ]
    names = ", ".join(f"`{each['field']}`" for each in shown[:3])
    return Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Invalid request",
        f"not valid: {names}; `errors` says what each should be",
        errors=shown,
    )


def field_path(location: tuple[str | int, ...]) -> str:
    """Where a field is.

    >>> field_path(("body", "prices", 0, "per_gpu_hour"))
    'body.prices.0.per_gpu_hour'
    """
    return ".".join(str(part)[:_LONGEST_NAME] for part in location)


def _from_starlette(error: HTTPException) -> Problem:
    # Starlette's own details say what its statuses say.
    said = {
        404: "nothing is at this path: /gpu-workers/openapi.json lists all",
        405: "this path has other methods: see the header Allow",
        400: "the body cannot be read: send valid JSON in UTF-8",
        413: "the body is too large",
    }
    detail = said.get(error.status_code, "")
    return Problem(error.status_code, "", detail, headers=error.headers)


def _allow(app: FastAPI, scope: Scope, said: str) -> str:
    """The methods of a path: Starlette says those of one of its endpoints."""
    methods = app.openapi()["paths"].get(getattr(scope.get("route"), "path", ""), {})
    return ", ".join(sorted(each.upper() for each in methods)) or said


def add_handlers(app: FastAPI) -> None:
    """Have all errors answered with problems."""

    async def answer(request: Request, error: Exception) -> Response:
        match error:
            case Problem():
                problem = error
            case GatewayError():
                problem = problem_of(error)
            case RequestValidationError():
                problem = invalid(list(error.errors()))
            case HTTPException():
                problem = _from_starlette(error)
                if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
                    said = problem.headers.get("Allow", "")
                    problem.headers["Allow"] = _allow(app, request.scope, said)
            case DataError():  # a character that PostgreSQL's text cannot have
                problem = Problem(
                    HTTPStatus.UNPROCESSABLE_ENTITY,
                    "Invalid request",
                    "a text has characters that cannot be stored: leave out control characters",
                )
            case _:  # the database
                problem = problem_of(UnavailableError("the database does not answer"))
        return problem.response(request.scope)

    for kind in (
        Problem,
        GatewayError,
        RequestValidationError,
        HTTPException,
        DataError,
        OperationalError,
        PoolTimeoutError,
    ):
        app.add_exception_handler(kind, answer)
