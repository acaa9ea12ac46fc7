"""Requests to the GPU workers API: what may be repeated is, and errors are devctl's own."""

from __future__ import annotations

import random
import time
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import httpx2
import msgspec

from devctl.client.workers.place import PREFIX, place_of
from devctl.client.workers.problems import error_of
from devctl.client.workers.writing import given, seconds
from devctl.errors import ConnectionLostError, DevctlError, UsageError, WaitTimeoutError
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from devctl.client.workers.place import Place
    from devctl.client.workers.writing import Query

T = TypeVar("T")
KEY = "Idempotency-Key"
_TIMEOUT = httpx2.Timeout(30, connect=10)
_ATTEMPTS = 4
_BUSY = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""Answers after which a request is repeated."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 20.0
_CHECK = "check DEVCTL_WORKERS_URL and the network; on a cluster, forward the gateway's port"


class Api:
    """A connection to the API.

    Args:
        url: Where it is; None for the settings.
        token: Who asks; None for the settings.
        transport: In place of the network, for tests.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """Ask nothing yet, and read no settings."""
        self._given = url, token
        self._transport = transport

    @cached_property
    def place(self) -> Place:
        """Where it is; raises UsageError if nobody has said so."""
        return place_of(*self._given)

    @cached_property
    def _http(self) -> httpx2.Client:
        return httpx2.Client(
            transport=self._transport,
            timeout=_TIMEOUT,
            headers={"User-Agent": "devctl", "Authorization": f"Bearer {self.place.token}"},
        )

    def close(self) -> None:
        """Close the connections, if there are any."""
        if "_http" in self.__dict__:
            self._http.close()

    def call(  # noqa: PLR0913 - what a request has
        self,
        kind: type[T],
        method: str,
        path: str,
        query: Query | None = None,
        *,
        body: object = None,
        key: str = "",
        repeat: bool = False,
    ) -> T:
        """What is answered to a request.

        Args:
            kind: Of the answer.
            method: HTTP's.
            path: Where.
            query: Parameters; those that are None are left out.
            body: What is asked.
            key: Names the request, so that its repetition does nothing again; empty for none.
            repeat: Whether a repetition does nothing again anyway.
        """
        content = None if body is None else msgspec.json.encode(body)
        headers = {KEY: key} if key else {}
        again = repeat or bool(key)
        return self._read(kind, self._ask(method, path, query, content, headers, repeat=again))

    def text(self, path: str, query: Query | None = None, *, accept: str) -> str:
        """What is at a path, as text in a format."""
        return self._ask("GET", path, query, headers={"Accept": accept}).text

    def delete(self, path: str) -> None:
        """Delete what is at a path."""
        self._ask("DELETE", path)

    def stream(
        self, path: str, query: Query | None = None, *, silence: float | None = None
    ) -> Iterator[bytes]:
        """What is at a path, as it comes.

        Args:
            path: Where.
            query: Its parameters.
            silence: Seconds until it counts as lost, and after which a busy API is asked again;
                None for something that says nothing for as long as it wants.

        Raises:
            ConnectionLostError: It ended early.
            DevctlError: It cannot be had.
        """
        timeout = httpx2.Timeout(10, read=silence)
        begun = False
        try:
            for attempt in range(1, _ATTEMPTS + 1):
                with self._http.stream(
                    "GET", self._url(path), params=given(query), timeout=timeout
                ) as answer:
                    if answer.is_success:
                        for part in answer.iter_bytes():
                            begun = True
                            yield part
                        return
                    last = attempt == _ATTEMPTS or silence is None
                    if last or answer.status_code not in _BUSY:
                        raise error_of(answer.status_code, answer.read())
                    pause = _pause(attempt, answer)
                _sleep(pause)
        except httpx2.RequestError as error:
            if begun:
                why = f"the connection to the GPU workers API was lost: {_why(error)}"
                raise ConnectionLostError(why, "repeat the command") from error
            raise self._unreachable(error) from error

    def _ask(  # noqa: PLR0913 - what a request has
        self,
        method: str,
        path: str,
        query: Query | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        repeat: bool = True,
    ) -> httpx2.Response:
        about = {"Content-Type": "application/json"} if content else {}
        for attempt in range(1, _ATTEMPTS + 1):
            last = attempt == _ATTEMPTS or not repeat
            answer = None
            try:
                answer = self._http.request(
                    method,
                    self._url(path),
                    params=given(query),
                    content=content,
                    headers={**about, **(headers or {})},
                )
            except httpx2.RequestError as error:
                if last or isinstance(error, httpx2.UnsupportedProtocol):
                    raise self._unreachable(error) from error
            else:
                if answer.is_success:
                    return answer
                if last or answer.status_code not in _BUSY:
                    raise error_of(answer.status_code, answer.content)
            _sleep(_pause(attempt, answer))
        raise AssertionError("the last attempt returns or raises")

    def _url(self, path: str) -> str:
        return f"{self.place.url.removesuffix(PREFIX)}{path}"

    def _read(self, kind: type[T], answer: httpx2.Response) -> T:
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            why = f"{self.place.url} answers what the GPU workers API would not: {error}"
            raise DevctlError(one_line(why), _CHECK) from error

    def _unreachable(self, error: httpx2.RequestError) -> DevctlError:
        where = self.place.url
        if isinstance(error, httpx2.TimeoutException):
            return WaitTimeoutError(f"{where} does not answer in time", _CHECK)
        if isinstance(error, httpx2.UnsupportedProtocol):
            return UsageError(f"`{where}` is not an address of the GPU workers API", _CHECK)
        return DevctlError(f"{where} cannot be reached: {_why(error)}", _CHECK)


def _pause(attempt: int, answer: httpx2.Response | None) -> float:
    """Seconds until a request is repeated, given its last answer if there was one."""
    asked = seconds(answer.headers.get("Retry-After", "")) if answer is not None else 0.0
    pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE * 2 ** (attempt - 1), asked))
    return float(pause * random.uniform(0.75, 1.25))  # noqa: S311 - jitter


def _why(error: Exception) -> str:
    return one_line(str(error)) or type(error).__name__


def _sleep(seconds: float) -> None:
    time.sleep(seconds)
