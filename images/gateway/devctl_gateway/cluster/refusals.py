"""What the API server refuses, and that it does not answer, as errors of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import httpx2

from devctl_gateway.errors import ClusterError, RejectedError

WAIT = "wait, and repeat the request"
_INVALID = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


@contextmanager
def translated() -> Iterator[None]:
    """Errors of a connection, as ours."""
    try:
        yield
    except httpx2.HTTPError as error:
        raise ClusterError(f"the API server does not answer ({error!r})", WAIT) from error


def no_log(answer: httpx2.Response) -> ClusterError:
    """Why there is no log to read."""
    if answer.status_code == HTTPStatus.NOT_FOUND:
        return ClusterError("the job's pod is gone, and its log with it", "submit the job again")
    if answer.status_code == HTTPStatus.BAD_REQUEST:
        return ClusterError("the job's program has not started yet", WAIT)
    return refused(answer)


def refused(answer: httpx2.Response) -> ClusterError:
    """What the API server says to a request that it does not serve."""
    try:
        said = str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        said = answer.reason_phrase
    text = f"the API server answers {answer.status_code}: {said[:500]}"
    if answer.status_code in _INVALID:
        return RejectedError(text, "change what you ask for")
    return ClusterError(text, WAIT)
