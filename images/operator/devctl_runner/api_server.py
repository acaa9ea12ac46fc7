"""Requests to an API server that may be unavailable: it may start with the pod, or later."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus

from kubernetes import client
from urllib3.exceptions import HTTPError

_PAUSE = 1.0
# Shorter than the pod's startup probe allows.
_PATIENCE = 45.0


def when_answered(ask: Callable[[], str], patience: float = _PATIENCE) -> str:
    """Repeat a request until the API server answers or refuses; returns a line for the log.

    Args:
        ask: Sends the request and returns what it did; empty if nothing.
        patience: Seconds after which to give up.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return ask()
        except client.ApiException as error:
            said = f"{error.status} {error.reason}"
            if error.status == HTTPStatus.NOT_FOUND:  # there has never been a leader
                return ""
            if error.status not in {429, 500, 502, 503, 504}:
                return said
        except (HTTPError, OSError) as error:
            said = str(error)
        if time.monotonic() > deadline:
            return f"no response within {patience:.0f} s: {said}"
        time.sleep(_PAUSE)
