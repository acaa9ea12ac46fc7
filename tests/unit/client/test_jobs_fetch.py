"""Fetching from a real HTTP server of this machine, as honest or not as each test has it."""

from __future__ import annotations

import gzip
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from devctl.client.jobs.fetch import Limits, fetch, look_up, redirected
from devctl.client.jobs.fetch_guard import check_url
from devctl.errors import (
    DeniedError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from unit.patience import PATIENCE, eventually
from unit.tls_server import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BODY = b"image" * 50_000


class Server:
    """Answers each path as it is told; keeps the headers that it was sent."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.answers: dict[str, Callable[[Any], None]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append((self.path, dict(self.headers)))
                outer.answers[self.path](self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = False  # so that they are waited for when it closes
        self.port = self.http.server_address[1]

    def url(self, path: str, host: str = "store.test") -> str:
        return f"http://{host}:{self.port}{path}"


@pytest.fixture
def server(socket_enabled: None) -> Iterator[Server]:  # noqa: ARG001 - a real one
    made = Server()
    made.answers["/image"] = answer()
    with serving(made.http):
        yield made


def answer(
    body: bytes = BODY, status: int = 200, *, length: int | None = None, **headers: str
) -> Callable[[Any], None]:
    def respond(handler: Any) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        if length is None or length >= 0:
            handler.send_header("Content-Length", str(len(body) if length is None else length))
        handler.end_headers()
        handler.wfile.write(body)

    return respond


def limits(lookup: Callable[[str, int], Sequence[str]] | None = None, **more: Any) -> Limits:
    found = lookup or (lambda _host, _port: ["127.0.0.1"])
    return Limits(**{"allow_private": True, "lookup": found, **more})


def test_a_file_comes_with_the_host_that_was_named(server: Server) -> None:
    assert b"".join(fetch(server.url("/image"), limits())) == BODY
    path, headers = server.seen[0]
    assert path == "/image"
    assert headers["Host"] == f"store.test:{server.port}"
    assert headers["Accept-Encoding"] == "identity"
    assert "Authorization" not in headers


def test_nothing_inside_is_asked_unless_that_was_said(server: Server) -> None:
    with pytest.raises(DeniedError, match=r"127\.0\.0\.1, an address of this machine"):
        list(fetch(server.url("/image"), limits(allow_private=False)))
    with pytest.raises(
        DeniedError, match=r"`store.test` leads to 127.0.0.1, an address of this machine"
    ):
        look_up(server.url("/image"), limits(allow_private=False))
    assert server.seen == []


def test_a_name_that_changes_its_mind_is_looked_up_once_for_a_connection(server: Server) -> None:
    """DNS rebinding: the address that was looked at is the one that is connected to."""
    asked: list[str] = []

    def lookup(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    assert b"".join(fetch(server.url("/image"), limits(lookup))) == BODY
    assert asked == ["store.test"]


def test_an_address_that_does_not_answer_gives_way_to_the_next(server: Server) -> None:
    found = limits(lambda _host, _port: ["127.0.0.2", "127.0.0.1"])
    assert b"".join(fetch(server.url("/image"), found)) == BODY


def test_a_redirect_is_looked_at_as_if_it_had_been_typed(server: Server) -> None:
    server.answers["/old"] = answer(b"", 302, Location="/image")
    assert b"".join(fetch(server.url("/old"), limits())) == BODY

    def lookup(host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.1"] if host == "store.test" else ["169.254.169.254"]

    for location in ("http://metadata.test/keys", "//metadata.test/keys"):
        server.answers["/evil"] = answer(b"", 307, Location=location)
        with pytest.raises(DeniedError, match="metadata"):
            list(fetch(server.url("/evil"), limits(lookup)))
    for location in ("file:///etc/passwd", "http://a:b@store.test/", "ftp://store.test/"):
        server.answers["/evil"] = answer(b"", 301, Location=location)
        with pytest.raises(UsageError, match=r"neither http nor https|a name or a password"):
            list(fetch(server.url("/evil"), limits()))
    server.answers["/nowhere"] = answer(b"", 302)
    with pytest.raises(DevctlError, match="redirects nowhere"):
        list(fetch(server.url("/nowhere"), limits()))


def test_a_circle_of_redirects_ends(server: Server) -> None:
    server.answers["/circle"] = answer(b"", 302, Location="/circle")
    with pytest.raises(DevctlError, match="more than 5 times"):
        list(fetch(server.url("/circle"), limits()))
    assert len(server.seen) == 6


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, NotFoundError), (410, NotFoundError), (401, DeniedError), (403, DeniedError)]
    + [(code, DevctlError) for code in (204, 206, 300, 304, 400, 429, 500, 503)],
)
def test_what_is_no_file_is_told(server: Server, status: int, error: type[DevctlError]) -> None:
    server.answers["/secret"] = answer(b"", status)
    server.answers["/secret?token=abc"] = server.answers["/secret"]
    with pytest.raises(error, match=str(status)) as raised:
        list(fetch(server.url("/secret?token=abc"), limits()))
    assert "abc" not in str(raised.value)


def test_too_much_is_too_much_whatever_was_announced(server: Server) -> None:
    server.answers["/said"] = answer(b"", length=10**12)
    server.answers["/unsaid"] = answer(length=-1)
    for path in ("/said", "/unsaid", "/image"):
        taken: list[bytes] = []
        with pytest.raises(DevctlError, match=r"larger than 1\.0 KB"):
            taken.extend(fetch(server.url(path), limits(size=1000)))
        assert len(b"".join(taken)) <= 1000


def test_a_length_that_lies_is_no_whole_file(server: Server) -> None:
    server.answers["/short"] = answer(length=len(BODY) + 1)
    with pytest.raises(DevctlError, match="did not arrive completely"):
        list(fetch(server.url("/short"), limits()))
    server.answers["/long"] = answer(length=len(BODY) - 1)
    assert b"".join(fetch(server.url("/long"), limits())) == BODY[:-1]
    server.answers["/odd"] = answer(Content_Length="-5", length=-1)
    with pytest.raises(DevctlError, match="did not arrive completely"):
        list(fetch(server.url("/odd"), limits()))


def test_what_comes_packed_is_not_taken_for_the_file(server: Server) -> None:
    server.answers["/packed"] = answer(gzip.compress(bytes(10**7)), Content_Encoding="gzip")
    with pytest.raises(DevctlError, match="arrives compressed"):
        list(fetch(server.url("/packed"), limits()))


@pytest.mark.parametrize("where", ["head", "body"])
def test_a_server_that_dribbles_does_not_hold_us_up(server: Server, where: str) -> None:
    def dribble(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"\r\n" * (where == "body"))
        until = time.monotonic() + PATIENCE
        try:
            while time.monotonic() < until:
                handler.wfile.write(b"a: b\r\n")
                time.sleep(0.05)
        except OSError:
            left.append(handler.path)

    left: list[str] = []
    server.answers["/slow"] = dribble
    seconds = 0.4
    while not server.seen:  # on a busy machine, the time may be over before it is asked
        with pytest.raises(WaitTimeoutError):
            list(fetch(server.url("/slow"), limits(seconds=seconds)))
        seconds *= 2
    eventually(lambda: len(left) == len(server.seen))


def test_proxies_of_the_environment_are_not_asked(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert b"".join(fetch(server.url("/image"), limits())) == BODY


def test_what_cannot_be_reached_or_found_is_told(server: Server) -> None:
    with pytest.raises(DevctlError, match="cannot be reached"):
        list(fetch("http://store.test:1/a", limits()))
    with pytest.raises(DevctlError, match=r"cannot be reached|whole"):
        list(fetch(server.url("/image").replace("http:", "https:"), limits()))


def test_https_does_not_lead_to_http() -> None:
    target = check_url("https://store.test/a")
    with pytest.raises(DeniedError, match="from https to http"):
        redirected(target, "http://store.test/a")
    assert redirected(target, "b").url == "https://store.test/b"
