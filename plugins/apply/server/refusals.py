"""What an error from the API server means."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any

from kubernetes.client.exceptions import ApiException

from apply.errors import ApplyError, FieldConflictError, NotFoundError, StaleReadError
from devctl.api.applied import Reason

# Enough for a page of CEL messages; the message of a condition may have 32 KiB.
_LONGEST = 2000
_MANAGER = re.compile(r'^conflict with "(?P<manager>[^"]*)"')
# For a manifest that violates the schema of a built-in kind, the server returns status 500.
_NOT_IN_SCHEMA = "failed to create typed patch object"


def body_of(error: ApiException) -> dict[str, Any]:
    """The Status object in an error's body; empty if a proxy in between answered."""
    try:
        body = json.loads(error.body or "")
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def message_of(error: ApiException) -> str:
    """The server's message."""
    fallback = f"the API server answered {error.status} {error.reason or ''}".strip()
    return str(body_of(error).get("message") or fallback)[:_LONGEST]


def is_passing(error: ApiException) -> bool:
    """Whether the same request may succeed in a moment (a transient error)."""
    status = int(error.status)
    if _NOT_IN_SCHEMA in message_of(error):
        return False
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def retry_after(error: ApiException) -> float:
    """Seconds that the server asks to wait; 0 if it does not."""
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return 0.0


def translate(subject: str, error: ApiException) -> ApplyError | StaleReadError:
    """Our error for an API error.

    Args:
        subject: What was requested.
        error: What the client raised.
    """
    message = f"{subject}: {message_of(error)}"
    details = body_of(error).get("details") or {}
    causes: list[dict[str, Any]] = details.get("causes") or []
    held = [cause for cause in causes if cause.get("reason") == "FieldManagerConflict"]
    if held:
        return FieldConflictError(message, frozenset(map(_manager, held)))
    # A wrong UID in a manifest is a 409 if no object exists, and a 422 if another one does.
    replaced = any(cause.get("field") == "metadata.uid" for cause in causes)
    if error.status == HTTPStatus.CONFLICT or replaced:
        return StaleReadError(message)
    if error.status == HTTPStatus.NOT_FOUND:
        return NotFoundError(message)
    return ApplyError(_reason(error, message, causes), message)


def _reason(error: ApiException, message: str, causes: list[dict[str, Any]]) -> Reason:
    if is_passing(error):
        return Reason.UNAVAILABLE
    if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
        return Reason.TERMINATING
    if error.status == HTTPStatus.FORBIDDEN and "exceeded quota" in message:
        return Reason.QUOTA_EXCEEDED
    refused = error.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
    return Reason.FORBIDDEN if refused else Reason.INVALID


def _manager(cause: dict[str, Any]) -> str:
    match = _MANAGER.match(str(cause.get("message")))
    return match["manager"] if match else ""
