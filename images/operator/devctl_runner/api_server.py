"""Requests to an API server that may be away: it starts after the pod, or with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus

from kubernetes import client
from urllib3.exceptions import HTTPError

_PAUSE = 1.0
# Shorter than the pod's startup probe is patient.
_PATIENCE = 45.0


def when_answered(ask: Callable[[], str], patience: float = _PATIENCE) -> str:
    """Ask until the API server answers, be it by a refusal; returns what there is to say.

    Args:
        ask: A request and what follows from it.
        patience: Seconds after which nobody waits any longer.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return ask()
        except client.ApiException as error:
            said = f"{error.status} {error.reason}"
            if error.status == HTTPStatus.NOT_FOUND:  # nobody has ever led
                return ""
            if error.status not in {429, 500, 502, 503, 504}:
                return said
        except (HTTPError, OSError) as error:
            said = str(error)
        if time.monotonic() > deadline:
            return f"no answer in {patience:.0f} s: {said}"
        time.sleep(_PAUSE)
