"""Where keys are read: files, and addresses behind TLS."""

from __future__ import annotations

from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, ClassVar

import pytest
from devctl_gateway.errors import IssuerError
from devctl_gateway.identity.issuers import Issuer
from devctl_gateway.identity.key_sources import LARGEST, source_of
from pytest_socket import enable_socket, socket_allow_hosts
from support.gateway_app import AUDIENCE, ISSUER

from unit.tls_server import serving, speak_tls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.anyio
KEYS = b'{"keys": []}'


@pytest.fixture
def socket_disabled() -> Iterator[None]:
    enable_socket()  # or the guard would only be put on top of a stricter one
    socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    yield
    enable_socket()


class Publisher(BaseHTTPRequestHandler):
    """A server of keys."""

    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.asked.append(self.headers["Authorization"])
        status, body = {
            "/keys": (200, KEYS),
            "/large": (200, b"x" * (LARGEST + 1)),
            "/moved": (302, b""),
            "/broken": (500, b""),
        }[self.path]
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/keys")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    Publisher.asked.clear()
    server = HTTPServer(("127.0.0.1", 0), Publisher)
    port = speak_tls(server, tmp_path)
    with serving(server):
        yield f"https://127.0.0.1:{port}"


def behind(address: str, path: str = "/keys", ca_file: str = "", token_file: str = "") -> Issuer:
    return Issuer(
        issuer=ISSUER,
        audience=AUDIENCE,
        algorithms=["ES256"],
        jwks_url=address + path,
        ca_file=ca_file,
        token_file=token_file,
    )


async def test_keys_are_fetched_from_whom_the_authority_vouches_for(
    address: str, tmp_path: Path
) -> None:
    assert await source_of(behind(address, ca_file=str(tmp_path / "ca.crt")))() == KEYS
    assert Publisher.asked == [None]


async def test_a_token_is_shown_where_one_is_needed(address: str, tmp_path: Path) -> None:
    one = behind(address, ca_file=str(tmp_path / "ca.crt"), token_file=str(tmp_path / "token"))
    assert await source_of(one)() == KEYS
    assert Publisher.asked == ["Bearer first"]


async def test_nobody_else_is_believed(address: str) -> None:
    with pytest.raises(IssuerError, match=r"cannot be had \(ConnectError\)"):
        await source_of(behind(address))()
    assert not Publisher.asked


@pytest.mark.parametrize("path", ["/large", "/moved", "/broken"])
async def test_other_answers_are_no_keys(address: str, tmp_path: Path, path: str) -> None:
    read = partial(source_of, behind(address, path, ca_file=str(tmp_path / "ca.crt")))
    with pytest.raises(IssuerError, match="cannot be had"):
        await read()()


async def test_a_server_that_is_not_there_is_a_failure_of_the_issuers() -> None:
    with pytest.raises(IssuerError, match=r"cannot be had \(ConnectError\)"):
        await source_of(behind("https://127.0.0.1:1"))()


async def test_a_file_is_read_each_time(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    one = Issuer(issuer=ISSUER, audience=AUDIENCE, algorithms=["ES256"], jwks_file=str(path))
    read = source_of(one)
    with pytest.raises(IssuerError, match=r"cannot be had \(FileNotFoundError\)"):
        await read()
    for content in (b"one", b"two"):
        path.write_bytes(content)
        assert await read() == content
    path.write_bytes(b"x" * (LARGEST + 1))
    with pytest.raises(IssuerError, match=r"cannot be had \(OSError\)"):
        await read()
