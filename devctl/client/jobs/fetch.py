"""A file from a URL, piece by piece: see fetch_guard for where it may come from."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

import httpcore2

from devctl.client.files.transfer import amount
from devctl.client.jobs.fetch_guard import allowed, check_url
from devctl.client.jobs.fetch_network import Deadline, PinnedNetwork, resolve
from devctl.errors import DeniedError, DevctlError, NotFoundError, WaitTimeoutError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.client.jobs.fetch_guard import Target
    from devctl.client.jobs.fetch_network import Resolve

MAX_SIZE = 1 << 30
SECONDS = 600.0
_REDIRECTS = 5
_REDIRECTED = {301, 302, 303, 307, 308}
_GONE = {404, 410}
_DENIED = {401, 403}
_HEADERS = [("Accept", "*/*"), ("Accept-Encoding", "identity"), ("User-Agent", "egpu")]


class Limits(NamedTuple):
    """What a fetch may take.

    Attributes:
        size: Bytes.
        seconds: Seconds, for all of it.
        allow_private: Whether it may lead inside one's own network.
        lookup: Gives the addresses of a host.
    """

    size: int = MAX_SIZE
    seconds: float = SECONDS
    allow_private: bool = False
    lookup: Resolve = resolve


def look_up(url: str, limits: Limits) -> Target:
    """See that a URL can be fetched as far as that can be told without fetching it.

    Raises:
        DevctlError: It cannot.
    """
    target = check_url(url)
    found = limits.lookup(target.host, target.port)
    allowed(target.host, found, allow_private=limits.allow_private)
    return target


def fetch(
    url: str, limits: Limits, announced: Callable[[int], None] = lambda _size: None
) -> Iterator[bytes]:
    """What a URL holds, piece by piece.

    The environment's proxies are not asked: they would look the host up once more.

    Args:
        url: The URL.
        limits: What it may take.
        announced: Told how many bytes its server says that it has, if it says so.

    Raises:
        DevctlError: It cannot be fetched, or is more than was allowed.
    """
    deadline = Deadline(limits.seconds)
    network = PinnedNetwork(deadline, allow_private=limits.allow_private, lookup=limits.lookup)
    target = check_url(url)
    for _ in range(_REDIRECTS + 1):
        with _answer(target, network) as answer:
            headers = _headers(answer)
            if answer.status in _REDIRECTED:
                target = redirected(target, headers.get("location", ""))
                continue
            _check(target, answer.status, headers, limits)
            if (size := _announced(headers)) is not None:
                announced(size)
            yield from _body(target, answer, limits)
            return
    raise DevctlError(
        f"`{_shown(url)}` leads from one place to the next, more than {_REDIRECTS} times",
        "name the place where it is",
    )


@contextmanager
def _answer(target: Target, network: PinnedNetwork) -> Iterator[httpcore2.Response]:
    """The answer to a GET, with errors that say what to do."""
    shown = _shown(target.url)
    try:
        with (
            httpcore2.ConnectionPool(
                ssl_context=ssl.create_default_context(), network_backend=network
            ) as pool,
            pool.stream("GET", target.url, headers=_HEADERS) as answer,
        ):
            yield answer
    except httpcore2.TimeoutException as error:
        raise WaitTimeoutError(
            f"`{shown}` does not answer in time", "try again, or fetch it yourself"
        ) from error
    except httpcore2.ProtocolError as error:
        raise DevctlError(
            f"`{shown}` did not come as a whole: {readable(str(error))}", "try again"
        ) from error
    except (httpcore2.NetworkError, ssl.SSLError, OSError) as error:
        raise DevctlError(
            f"`{shown}` cannot be reached: {readable(str(error))}",
            "see whether this machine reaches it",
        ) from error


def _headers(answer: httpcore2.Response) -> dict[str, str]:
    """The headers by name; of several of one name the first."""
    found: dict[str, str] = {}
    for name, value in answer.headers:
        found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return found


def redirected(target: Target, location: str) -> Target:
    """Where a redirect leads: looked at as if somebody had typed it.

    Raises:
        DevctlError: There we do not follow.
    """
    if not location:
        raise DevctlError(f"`{_shown(target.url)}` leads nowhere", "name the place where it is")
    found = check_url(urljoin(target.url, location))
    if target.scheme == "https" and found.scheme != "https":
        raise DeniedError(
            f"`{_shown(target.url)}` leads from https to http: it is not fetched",
            f"if that is meant, name `{_shown(found.url)}`",
        )
    return found


def _check(target: Target, status: int, headers: dict[str, str], limits: Limits) -> None:
    shown = _shown(target.url)
    if status in _GONE:
        raise NotFoundError(f"`{shown}` is not there: {status}", "see whether the URL is right")
    if status in _DENIED:
        raise DeniedError(f"`{shown}` is not for everybody: {status}", "use a signed URL")
    if status != 200:  # noqa: PLR2004 - 206 and the like are no whole file
        raise DevctlError(f"`{shown}` answered {status}", "try again later")
    if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise DevctlError(
            f"`{shown}` comes packed, though nobody asked for that", "fetch it yourself"
        )
    if (_announced(headers) or 0) > limits.size:
        raise _too_large(shown, limits)


def _announced(headers: dict[str, str]) -> int | None:
    """How many bytes a server says that it sends; None where it does not."""
    said = headers.get("content-length", "")
    return int(said) if said.isascii() and said.isdecimal() else None


def _body(target: Target, answer: httpcore2.Response, limits: Limits) -> Iterator[bytes]:
    """The body, of which no header says how long it really is."""
    size = 0
    for piece in answer.iter_stream():
        size += len(piece)
        if size > limits.size:
            raise _too_large(_shown(target.url), limits)
        yield piece


def _too_large(shown: str, limits: Limits) -> DevctlError:
    return DevctlError(
        f"`{shown}` is larger than {amount(limits.size)}", "allow more with --max-size"
    )


def _shown(url: str) -> str:
    """A URL without its query, which may be what a signed one is secret by."""
    return readable(url.partition("?")[0])[:200]
