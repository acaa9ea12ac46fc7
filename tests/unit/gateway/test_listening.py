"""Real sockets of the loopback interface, and certificates as the local cluster makes them."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.listening import LOOPBACK, Server, server
from devctl_gateway.settings import Settings
from pytest_socket import enable_socket, socket_allow_hosts

from devctl.local.certificates import make_certificate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

Addresses = list[tuple[str, int]]


@pytest.fixture(autouse=True)
def loopback(hermetic: None) -> Iterator[None]:  # noqa: ARG001 - after it
    enable_socket()
    socket_allow_hosts([LOOPBACK, "0.0.0.0"], allow_unix_socket=True)  # noqa: S104
    yield
    enable_socket()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    with_certificate(tmp_path)
    return Settings("sqlite+aiosqlite://", port=0, tls_folder=str(tmp_path), tls_port=0)


def with_certificate(folder: Path) -> bytes:
    """Write a new certificate; returns its authority's."""
    made = make_certificate([LOOPBACK])
    for name, content in made.items():
        (folder / name).write_bytes(content)
    return made["ca.crt"]


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the scheme of the request."""
    if scope["type"] != "http":
        return
    await receive()
    body = scope["scheme"].encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[tuple[Server, Addresses]]:
    """A server, and where it listens: with TLS first, if it has that."""
    made = server(app, settings)
    task = asyncio.create_task(made.serve())
    wanted = 2 if settings.tls_folder else 1
    while len(getattr(made, "servers", ())) < wanted:
        assert not task.done(), task
        await asyncio.sleep(0.01)
    yield made, [each.getsockname() for one in made.servers for each in one.sockets]
    made.should_exit = True
    await task


async def asked(port: int, context: ssl.SSLContext | None = None) -> bytes:
    reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=context)
    writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    said = await reader.read()
    writer.close()
    return said.rpartition(b"\r\n\r\n")[2]


def trusting(authority: bytes) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.decode())


def test_with_a_certificate_others_are_served_with_tls_and_the_pod_itself_without(
    settings: Settings, tmp_path: Path
) -> None:
    authority = (tmp_path / "ca.crt").read_bytes()

    async def both() -> tuple[bytes, bytes, list[str]]:
        async with running(settings) as (_, addresses):
            (everywhere, tls_port), (here, port) = addresses
            secret = await asked(tls_port, trusting(authority))
            return secret, await asked(port), [everywhere, here]

    secret, plain, hosts = asyncio.run(both())
    assert secret == b"https"
    assert plain == b"http"
    assert hosts == ["0.0.0.0", LOOPBACK]  # noqa: S104


def test_without_a_certificate_there_is_one_port(settings: Settings) -> None:
    async def one() -> tuple[bytes, int]:
        async with running(replace(settings, tls_folder="")) as (_, addresses):
            return await asked(addresses[0][1]), len(addresses)

    plain, count = asyncio.run(one())
    assert plain == b"http"
    assert count == 1


def test_a_renewed_certificate_is_used_for_new_connections(
    settings: Settings, tmp_path: Path
) -> None:
    async def renewed() -> bytes:
        async with running(settings) as (made, addresses):
            authority, port = with_certificate(tmp_path), addresses[0][1]
            with pytest.raises(ssl.SSLCertVerificationError):
                await asked(port, trusting(authority))
            assert made.config.callback_notify is not None
            await made.config.callback_notify()
            return await asked(port, trusting(authority))

    assert asyncio.run(renewed()) == b"https"


def test_both_ports_close_when_it_ends(settings: Settings) -> None:
    async def ended() -> None:
        async with running(settings) as (_, addresses):
            pass
        for _, port in addresses:
            with pytest.raises(OSError, match="Connect"):
                await asyncio.open_connection(LOOPBACK, port)

    asyncio.run(ended())


def test_several_processes_listen_at_the_same_ports(settings: Settings, tmp_path: Path) -> None:
    authority = (tmp_path / "ca.crt").read_bytes()

    async def both() -> list[bytes]:
        shared = replace(settings, processes=2)
        async with running(shared) as (_, first):
            (_, tls_port), (_, port) = first
            again = replace(shared, tls_port=tls_port, port=port)
            async with running(again) as (_, second):
                assert second == first
                return [await asked(tls_port, trusting(authority)), await asked(port)]

    assert asyncio.run(both()) == [b"https", b"http"]
