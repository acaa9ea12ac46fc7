"""How long to wait for an API server, and when to repeat a request."""

from __future__ import annotations

import logging
import random
import time
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx2

from devctl.text import one_line

_LOG = logging.getLogger(__name__)
SILENCE = 30.0
"""Seconds without a byte after which to give up an answer."""
_CONNECTING = (5.0, 10.0, 15.0)
"""Seconds for each attempt to connect: if packets are lost, a new attempt is faster."""
_IN_ALL = 60.0
"""Seconds for which refused requests are repeated."""
_AGAIN, _LONGEST = 0.5, 10.0
"""Seconds before the second attempt, and at most before later ones, by default."""
_LOST = 2
"""How often to repeat a request whose connection broke."""
_NOTICEABLE = 1.0
ONCE = "devctl.once"
"""Extension of a request: 503 is an answer, as when something behind the API server is down."""
_READING = {"GET", "HEAD", "OPTIONS"}


class Patient(httpx2.BaseTransport):
    """Repeats requests that had no effect, and logs why.

    These are requests that got 429, or 503 with Retry-After. After another 503 or a broken
    connection, only requests that read are repeated.
    """

    def __init__(
        self, carrier: httpx2.BaseTransport, route: str, request_timeout: float | None = None
    ) -> None:
        """Send by a carrier; messages name the route.

        `request_timeout` limits the seconds for an answer over all attempts; 0 is no limit.
        """
        self._carrier = carrier
        self._route = route
        self._request_timeout = request_timeout

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request until there is an answer."""
        attempt = _Attempt(request, self._request_timeout)
        while True:
            try:
                answer = self._carrier.handle_request(attempt.begin())
            except (httpx2.ConnectTimeout, httpx2.ReadError, httpx2.RemoteProtocolError) as error:
                if isinstance(error, httpx2.ConnectTimeout):
                    delay, why = attempt.unconnected(), f"{self._route} does not answer"
                else:
                    delay, why = attempt.lost(), f"the connection to {self._route} was lost"
                if delay is None:
                    raise
            else:
                delay = attempt.refused(answer)
                busy = answer.status_code == HTTPStatus.TOO_MANY_REQUESTS
                why = f"the API server is {'busy' if busy else 'not ready'} ({answer.status_code})"
                if delay is None:
                    return answer
                answer.close()
            if attempt.tells(delay):
                soon = f" in {delay:.0f} s" if delay >= _NOTICEABLE else ""
                _LOG.warning("%s", one_line(f"{why}: trying again{soon}"))
            time.sleep(delay)

    def close(self) -> None:
        """Close all connections."""
        self._carrier.close()


class _Attempt:
    """The attempts to send a request; its failures return seconds to wait, or None to give up."""

    def __init__(self, request: httpx2.Request, request_timeout: float | None) -> None:
        self._unconnected = self._lost = self._refused = 0
        self._request = request
        self._extensions = request.extensions
        self._wanted = dict(request.extensions.get("timeout") or {})
        self._limited = request_timeout is not None
        self._began = time.monotonic()
        within = _IN_ALL if request_timeout is None else request_timeout or float("inf")
        self._until = self._began + within
        self._reads = request.method in _READING and "Upgrade" not in request.headers
        self._waited = 0.0

    def begin(self) -> httpx2.Request:
        """The request, with the time that is left."""
        connect = _CONNECTING[min(self._unconnected, len(_CONNECTING) - 1)]
        self._timeout = {**self._wanted, "connect": connect}
        if self._limited:
            left = max(0.001, self._until - time.monotonic())
            every = None if left == float("inf") else left
            self._timeout |= {"connect": every and min(connect, every), "read": every}
        self._request.extensions = {**self._extensions, "timeout": self._timeout}
        return self._request

    def unconnected(self) -> float | None:
        """There was no connection."""
        self._unconnected += 1
        again = self._limited or self._unconnected < len(_CONNECTING)
        return self._in_time(0.0) if again else None

    def lost(self) -> float | None:
        """The connection broke."""
        self._lost += 1
        again = self._reads and self._lost <= _LOST
        return self._in_time(backoff(self._lost)) if again else None

    def refused(self, answer: httpx2.Response) -> float | None:
        """There was an answer; None accepts it."""
        # The body may be a stream, to which the limit does not apply.
        self._timeout["read"] = self._wanted.get("read")
        busy = answer.status_code == HTTPStatus.TOO_MANY_REQUESTS
        if not busy and ONCE in self._extensions:
            return None
        if not busy and answer.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
            return None
        after = retry_after(answer.headers.get("Retry-After", ""))
        if not busy and after is None and not self._reads:
            return None
        self._refused += 1
        return self._in_time(backoff(self._refused) if after is None else after)

    def tells(self, delay: float) -> bool:
        """Whether the waiting is long enough to tell people."""
        self._waited += delay
        return self._waited >= _NOTICEABLE or time.monotonic() - self._began >= _NOTICEABLE

    def _in_time(self, delay: float) -> float | None:
        return delay if time.monotonic() + delay < self._until else None


class Pace:
    """Delays a watch that keeps ending at once."""

    def __init__(self) -> None:
        """Start without a delay."""
        self._short = 0
        self._next = 0.0

    def wait(self, most: float) -> None:
        """Wait until it may start, for at most some seconds."""
        time.sleep(min(most, max(0.0, self._next - time.monotonic())))

    def ended(self, lasted: float, wanted: float) -> None:
        """Note how many seconds it lasted and was to last."""
        short = lasted < min(5.0, wanted / 2)
        self._short = self._short + 1 if short else 0
        self._next = time.monotonic() + backoff(self._short) if short else 0.0


def backoff(attempt: int) -> float:
    """Seconds before a repetition: exponential, with jitter.

    >>> 0.25 <= backoff(1) <= 0.5 and 5 <= backoff(30) <= 10
    True
    """
    longest = min(_LONGEST, _AGAIN * float(2 ** min(attempt - 1, 10)))
    return longest * random.uniform(0.5, 1)  # noqa: S311 - no secret


def retry_after(value: str) -> float | None:
    """The seconds of a Retry-After header, which may be a time; None if it is not valid.

    >>> retry_after("5"), retry_after("soon")
    (5.0, None)
    """
    if value.strip().isdecimal():
        return float(value)
    with suppress(ValueError, TypeError):
        at = parsedate_to_datetime(value)
        return max(0.0, (at.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    return None
