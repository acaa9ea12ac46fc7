"""Problem details (RFC 9457), as errors of devctl's own tree."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError, WaitTimeoutError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 600
_SHOWN = 3
"""How many invalid fields are named."""


class _Sort(NamedTuple):
    kind: type[DevctlError]
    fix: str


_AGAIN = "try again in a moment"
_SORTS: Mapping[int, _Sort] = {
    HTTPStatus.UNAUTHORIZED: _Sort(
        DeniedError, "get a new token or key, and set DEVCTL_WORKERS_TOKEN"
    ),
    HTTPStatus.PAYMENT_REQUIRED: _Sort(DeniedError, "ask an administrator for more credit"),
    HTTPStatus.FORBIDDEN: _Sort(DeniedError, "ask an administrator, or use another token"),
    HTTPStatus.NOT_FOUND: _Sort(NotFoundError, "check its ID, and whose token you use"),
    HTTPStatus.BAD_REQUEST: _Sort(UsageError, "change what it names"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: _Sort(UsageError, "store the data elsewhere"),
    HTTPStatus.UNPROCESSABLE_ENTITY: _Sort(UsageError, "change what it names"),
    HTTPStatus.REQUEST_TIMEOUT: _Sort(WaitTimeoutError, _AGAIN),
    HTTPStatus.GATEWAY_TIMEOUT: _Sort(WaitTimeoutError, _AGAIN),
}


def error_of(status: int, body: bytes) -> DevctlError:
    """The error of an answer that is one.

    Its reason is the problem's title as one word, such as `NoCreditLeft`.

    Args:
        status: HTTP's.
        body: Problem details; what a proxy says instead is shown in part.
    """
    problem = _problem(body)
    title = str(problem.get("title") or _phrase(status))
    message, fix = _said(problem, body) or (title, "")
    kind, otherwise = _SORTS.get(status, _Sort(DevctlError, ""))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        message = f"the GPU workers API failed with {status}: {message}"
        asked = one_line(problem.get("request_id") or "")
        otherwise = f"{_AGAIN}; report request {asked} if it stays" if asked else _AGAIN
    if invalid := _invalid(problem):
        message, fix = f"{title.lower()}: {invalid}", ""
    reason = "".join(word.capitalize() for word in re.findall(r"[A-Za-z]+", title))
    return kind(_short(message or title), _short(fix) or otherwise, reason=reason)


def _problem(body: bytes) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _said(problem: Mapping[str, Any], body: bytes) -> tuple[str, str] | None:
    """What has happened, and what to do; None if nothing was said."""
    if detail := problem.get("detail"):
        message, _, fix = str(detail).partition("; ")
        return message, fix
    text = " ".join(body.decode(errors="replace").split())
    return (text, "") if text and not problem else None


def _invalid(problem: Mapping[str, Any]) -> str:
    """The first fields that are not valid, and why."""
    errors = problem.get("errors")
    found = [each for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    named = [f"{str(e.get('field')).removeprefix('body.')}: {e.get('message')}" for e in found]
    more = f", and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return ", ".join(named[:_SHOWN]) + more


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else "Failed"


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
