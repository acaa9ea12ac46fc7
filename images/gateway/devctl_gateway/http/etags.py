"""ETags: whether a copy is current, and whether a change is to what its author has seen."""

from __future__ import annotations

import hashlib
import json
import re
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel

from devctl_gateway.http.problems import Problem

_TAG = re.compile(r'(?:W/)?("[^"]*")')


def etag_of(value: Any) -> str:
    """A strong ETag of a model, or of anything that JSON has.

    >>> etag_of({"a": 1, "b": 2}) == etag_of({"b": 2, "a": 1})
    True
    """
    if isinstance(value, BaseModel):
        return _tag(value.model_dump_json())
    return _tag(json.dumps(value, sort_keys=True, separators=(",", ":"), default=str))


def _tag(text: str) -> str:
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def matches(header: str, etag: str) -> bool:
    """Whether a list of ETags, or `*`, has one; weak ones count as strong.

    >>> matches('W/"a", "b"', '"a"'), matches("*", '"a"'), matches('"b"', '"a"')
    (True, True, False)
    """
    return header.strip() == "*" or etag in _TAG.findall(header)


def answer(request: Request, model: BaseModel) -> Response:
    """A model with its ETag; 304 if the client has it already."""
    text = model.model_dump_json()
    etag = _tag(text)
    if (known := request.headers.get("if-none-match")) and matches(known, etag):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": etag})
    return Response(text, headers={"ETag": etag}, media_type="application/json")


def changed(model: BaseModel) -> Response:
    """A model after a change, with its new ETag."""
    text = model.model_dump_json()
    return Response(text, headers={"ETag": _tag(text)}, media_type="application/json")


def check_unchanged(request: Request, value: Any) -> None:
    """Refuse a change to something that is no longer what the client has seen.

    Args:
        request: Its If-Match has the ETag that the client knows; without one, anything goes.
        value: What there is now, as `etag_of` takes it.

    Raises:
        Problem: It has changed; 412.
    """
    wanted = request.headers.get("if-match")
    if wanted is not None and not matches(wanted, etag_of(value)):
        raise Problem(
            HTTPStatus.PRECONDITION_FAILED,
            "",
            "it has changed since: read it again, and repeat the change with its new ETag",
        )
