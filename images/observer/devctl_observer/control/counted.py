"""Counts write requests by their results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import httpx2

from devctl_observer.control.figures import WRITES

_RESULTS = {
    int(HTTPStatus.CONFLICT): "conflict",
    int(HTTPStatus.FORBIDDEN): "forbidden",
    int(HTTPStatus.NOT_FOUND): "gone",
}


@contextmanager
def counted() -> Iterator[None]:
    """Count a request by its result."""
    result = "failed"
    try:
        yield
        result = "ok"
    except httpx2.HTTPStatusError as error:  # lightkube's ApiError is one
        result = _RESULTS.get(error.response.status_code, result)
        raise
    finally:
        WRITES.labels(result=result).inc()
