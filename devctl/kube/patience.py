"""How long devctl waits for an API server, and when it asks once more."""

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
"""What is waited for: people are told, for nobody watches a program that is silent."""
SILENCE = 30.0
"""Seconds without a byte after which an answer is given up."""
_CONNECTING = (5.0, 10.0, 15.0)
"""Seconds for each attempt to connect: where packets are lost, a new one is there sooner."""
_IN_ALL = 60.0
"""Seconds for which a server that refuses may be asked again."""
_AGAIN, _LONGEST = 0.5, 10.0
"""Seconds before the second request, and at most before later ones, unless the server says."""
_LOST = 2
"""How often a request is repeated whose connection broke."""
_NOTICEABLE = 1.0
_READING = {"GET", "HEAD", "OPTIONS"}


class Patient(httpx2.BaseTransport):
    """Repeats requests that have done nothing, and says what it waits for.

    429 means so of every request, and 503 with Retry-After, too. Any other 503 and a connection
    that broke are repeated where that does no harm: for what only reads.
    """

    def __init__(
        self, carrier: httpx2.BaseTransport, route: str, request_timeout: float | None = None
    ) -> None:
        """Send nothing yet.

        Args:
            carrier: What sends a request.
            route: Where to, for what is said.
            request_timeout: Seconds in which a server has to answer, all attempts together;
                0 for ever, None for what is usual.
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
            except httpx2.ConnectTimeout:
                attempt.unconnected += 1
                delay, why = attempt.delay_unconnected(), f"{self._route} does not answer"
                if delay is None:
                    raise
            except (httpx2.ReadError, httpx2.RemoteProtocolError):
                attempt.lost += 1
                delay, why = attempt.delay_lost(), f"the connection to {self._route} was lost"
                if delay is None:
                    raise
            else:
                attempt.answered()
                delay, why = attempt.delay_refused(answer), _why(answer)
                if delay is None:
                    return answer
                answer.close()
            if attempt.tells(delay):
                soon = f" in {delay:.0f} s" if delay >= _NOTICEABLE else ""
                _LOG.warning("%s", one_line(f"{why}: trying again{soon}"))
            time.sleep(delay)

    def close(self) -> None:
        """Hang up."""
        self._carrier.close()


class _Attempt:
    """One request, however often it is sent."""

    def __init__(self, request: httpx2.Request, request_timeout: float | None) -> None:
        self.unconnected = self.lost = self.refused = 0
        self._request = request
        self._extensions = request.extensions
        self._wanted = dict(request.extensions.get("timeout") or {})
        self._limited = request_timeout is not None
        self._began = time.monotonic()
        within = _IN_ALL if request_timeout is None else request_timeout or float("inf")
        self._until = self._began + within
        reads = request.method in _READING and "Upgrade" not in request.headers
        self._may_repeat = reads
        self._waited = 0.0

    def begin(self) -> httpx2.Request:
        """The request, with as much time as there is left."""
        connect = _CONNECTING[min(self.unconnected, len(_CONNECTING) - 1)]
        self._timeout = {**self._wanted, "connect": connect}
        if self._limited:
            left = max(0.001, self._until - time.monotonic())
            every = None if left == float("inf") else left
            self._timeout |= {"connect": every and min(connect, every), "read": every}
        self._request.extensions = {**self._extensions, "timeout": self._timeout}
        return self._request

    def answered(self) -> None:
        """Give what follows the answer's head the time that it was to have."""
        self._timeout["read"] = self._wanted.get("read")

    def delay_unconnected(self) -> float | None:
        """Seconds until a connection is to be tried again; None for no more."""
        return self._in_time(0.0) if self.unconnected < len(_CONNECTING) or self._limited else None

    def delay_lost(self) -> float | None:
        """The same where a connection broke."""
        again = self._may_repeat and self.lost <= _LOST
        return self._in_time(backoff(self.lost)) if again else None

    def delay_refused(self, answer: httpx2.Response) -> float | None:
        """The same where there is an answer; None where it is to be taken."""
        if answer.status_code not in {
            HTTPStatus.TOO_MANY_REQUESTS,
            HTTPStatus.SERVICE_UNAVAILABLE,
        }:
            return None
        after = retry_after(answer.headers.get("Retry-After", ""))
        sure = answer.status_code == HTTPStatus.TOO_MANY_REQUESTS or after is not None
        if not sure and not self._may_repeat:
            return None
        self.refused += 1
        return self._in_time(backoff(self.refused) if after is None else after)

    def tells(self, delay: float) -> bool:
        """Whether people notice that they wait, who have waited already."""
        self._waited += delay
        return self._waited >= _NOTICEABLE or time.monotonic() - self._began >= _NOTICEABLE

    def _in_time(self, delay: float) -> float | None:
        return delay if time.monotonic() + delay < self._until else None


class Pace:
    """How soon a watch may begin again that has ended at once, so that nobody asks all the time."""

    def __init__(self) -> None:
        """Nothing has ended yet."""
        self._short = 0
        self._next = 0.0

    def wait(self, most: float) -> None:
        """Wait until it may begin, for some seconds at most."""
        time.sleep(min(most, max(0.0, self._next - time.monotonic())))

    def ended(self, lasted: float, wanted: float) -> None:
        """Note how long it was to last, and has lasted."""
        short = lasted < min(5.0, wanted / 2)
        self._short = self._short + 1 if short else 0
        self._next = time.monotonic() + backoff(self._short) if short else 0.0


def backoff(attempt: int) -> float:
    """Seconds before a repetition, ever more, and not the same for everybody.

    >>> 0.25 <= backoff(1) <= 0.5 and 5 <= backoff(30) <= 10
    True
    """
    longest = min(_LONGEST, _AGAIN * float(2 ** min(attempt - 1, 10)))
    return longest * random.uniform(0.5, 1)  # noqa: S311 - no secret


def retry_after(value: str) -> float | None:
    """What a server says of when to ask again, in seconds or as a time; None for nothing.

    >>> retry_after("5"), retry_after("soon")
    (5.0, None)
    """
    if value.strip().isdecimal():
        return float(value)
    with suppress(ValueError, TypeError):
        at = parsedate_to_datetime(value)
        return max(0.0, (at.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    return None


def _why(answer: httpx2.Response) -> str:
    busy = answer.status_code == HTTPStatus.TOO_MANY_REQUESTS
    return f"the API server is {'busy' if busy else 'not ready'} ({answer.status_code})"
