"""Ports of a server on this machine."""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import pytest

from devctl.client.streams import port_forwards
from devctl.client.streams.port_forwards import Forward, join
from devctl.errors import DevctlError, NotFoundError, UsageError
from unit.client.fake_streams import there
from unit.patience import PATIENCE, eventually

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi


class Pipe:
    """One side of a connection: what it sends, and what it gets."""

    def __init__(self, *gives: bytes) -> None:
        self.got = bytearray()
        self.closed = threading.Event()
        self._gives: SimpleQueue[bytes] = SimpleQueue()
        for each in gives:
            self._gives.put(each)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def give(self, data: bytes) -> None:
        self._gives.put(data)

    def recv(self, _size: int) -> bytes:
        return self._gives.get()

    def read(self) -> bytes:
        return self._gives.get()

    def write(self, data: bytes) -> None:
        self.got += data

    sendall = write

    def shutdown(self, _how: int) -> None:
        self.give(b"")

    def close(self) -> None:
        self.closed.set()
        self.give(b"")


def joined(connection: Any, stream: Any) -> None:
    join(connection, stream)


def test_bytes_go_both_ways_until_the_server_ends_it() -> None:
    client, server = Pipe(b"GET /"), Pipe(b"200 OK")
    thread = threading.Thread(target=joined, args=(client, server))
    thread.start()
    eventually(lambda: bytes(server.got) == b"GET /")
    server.give(b"")
    thread.join(PATIENCE)
    assert bytes(client.got) == b"200 OK"
    assert server.closed.wait(PATIENCE)


def test_a_client_that_has_said_all_still_gets_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_forwards, "_LINGER", 3600.0)
    looks: list[str] = []

    def monotonic() -> float:
        looks.append(threading.current_thread().name)
        return time.monotonic()

    monkeypatch.setattr(port_forwards, "time", SimpleNamespace(monotonic=monotonic))
    client, server = Pipe(b"all", b""), Pipe()
    thread = threading.Thread(target=joined, args=(client, server))
    thread.start()
    # It looks at the clock when all has been said, and for how long it is still to wait.
    eventually(lambda: looks.count("to the pod") > 1)
    assert not server.closed.is_set()
    server.give(b"the answer")
    server.give(b"")
    thread.join(PATIENCE)
    assert bytes(client.got) == b"the answer"


def test_a_client_that_has_gone_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_forwards, "_LINGER", 0.02)
    client, server = Pipe(b""), Pipe()
    joined(client, server)
    assert server.closed.is_set()


class Listener:
    """A port of this machine on which connections come when a test says so."""

    def __init__(self) -> None:
        self._coming: SimpleQueue[Any] = SimpleQueue()

    def come(self, connection: Any) -> None:
        self._coming.put(connection)

    def getsockname(self) -> tuple[str, int]:
        return ("127.0.0.1", 12345)

    def accept(self) -> tuple[Any, None]:
        if (found := self._coming.get()) is None:
            raise OSError
        return found, None

    def shutdown(self, _how: int) -> None:
        self._coming.put(None)

    def close(self) -> None:
        self._coming.put(None)


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    found = Listener()
    monkeypatch.setattr(port_forwards, "_listener", lambda _port: found)
    return found


def test_many_connections_one_after_another_and_at_once(
    api: FakeApi, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    there(api)
    opened: list[tuple[str, int, str]] = []
    servers: list[Pipe] = []

    def connect(_cluster: object, pod: str, port: int, namespace: str) -> Pipe:
        opened.append((pod, port, namespace))
        servers.append(Pipe(b"hello"))
        return servers[-1]

    monkeypatch.setattr(port_forwards, "open_port_forward", connect)
    clients = [Pipe() for _ in range(20)]
    with Forward(api.cluster())("lab", 80) as port:
        assert (port.local, port.port) == (12345, 80)
        for client in clients:
            listener.come(client)
        eventually(lambda: all(bytes(client.got) == b"hello" for client in clients))
        assert not any(client.closed.is_set() for client in clients)
        for server in servers:
            server.give(b"")
        assert all(client.closed.wait(PATIENCE) for client in clients)
        assert not port.wait(0)
    assert port.wait(0)
    assert opened == [("lab-0", 80, "dev-alice")] * 20


def test_a_connection_that_cannot_be_made_is_told_and_the_next_one_is_made(
    api: FakeApi, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    there(api)
    failures: SimpleQueue[DevctlError] = SimpleQueue()

    def refuse(*_: object) -> Pipe:
        raise DevctlError("nothing listens on port 80", "start it")

    monkeypatch.setattr(port_forwards, "open_port_forward", refuse)
    with Forward(api.cluster())("lab", 80, failed=failures.put):
        for client in (Pipe(), Pipe()):
            listener.come(client)
            assert "nothing listens" in failures.get(timeout=PATIENCE).message
            assert client.closed.wait(PATIENCE)


def test_what_cannot_be_forwarded(api: FakeApi, listener: Listener) -> None:
    assert listener
    forward = Forward(api.cluster())
    with pytest.raises(NotFoundError, match="there is no server `lab`"):
        forward("lab", 80)
    for ports in ((0, 0), (65536, 0), (80, 65536), (-1, 0)):
        with pytest.raises(UsageError, match="there is no port"):
            forward("lab", *ports)


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(*_: object) -> None:
        raise OSError

    def forbidden(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("socket.create_server", taken)
    with pytest.raises(DevctlError, match="port 8888 of this machine is in use"):
        port_forwards._listener(8888)  # noqa: SLF001 - sockets are disabled
    assert not port_forwards.is_free(8888)
    monkeypatch.setattr("socket.create_server", forbidden)
    with pytest.raises(DevctlError, match="only root"):
        port_forwards._listener(80)  # noqa: SLF001


def test_it_is_closed_once(api: FakeApi, listener: Any) -> None:
    assert listener
    there(api)
    port = Forward(api.cluster())("lab", 80)
    port.close()
    port.close()
    assert port.wait(0)
