from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.utils import accept_key

from devctl.errors import ConnectionLostError, DevctlError
from devctl.kube.serial_tls import SerialTls
from devctl.kube.websocket import Handshake, WebSocket
from unit.kube.pod_server import server_frame
from unit.kube.waiting import waiting
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator


PING = 9


def answer(handshake: Handshake, **changed: str) -> list[tuple[bytes, bytes]]:
    """The headers of a server that agrees, but for what is changed."""
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Accept": accept_key(dict(handshake.headers)["Sec-WebSocket-Key"]),
        "Sec_WebSocket_Protocol": "spoken",
    } | changed
    return [
        (name.replace("_", "-").encode(), value.encode())
        for name, value in headers.items()
        if value
    ]


def opened(ours: socket.socket, silence: float = 25.0) -> WebSocket:
    handshake = Handshake(["spoken"])
    handshake.take(answer(handshake))
    return WebSocket(SerialTls(ours), handshake.protocol, "it", silence=silence)


@pytest.fixture
def pair() -> Iterator[tuple[WebSocket, socket.socket]]:
    ours, theirs = socket.socketpair()
    web_socket = opened(ours, silence=0.05)
    with theirs:
        yield web_socket, theirs
    web_socket.close()


def test_what_is_asked_for() -> None:
    names = [name for name, _ in Handshake(["a", "b"]).headers]
    assert "Host" not in names
    assert dict(Handshake(["a", "b"]).headers)["Sec-WebSocket-Protocol"] == "a, b"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"Sec_WebSocket_Protocol": "old"}, "understands: .*old"),
        ({"Sec_WebSocket_Protocol": ""}, "understands: none"),
        ({"Sec_WebSocket_Accept": "another"}, "breaks WebSockets"),
        ({"Upgrade": "h2c"}, "breaks WebSockets"),
    ],
)
def test_answers_that_begin_no_websocket(changed: dict[str, str], words: str) -> None:
    handshake = Handshake(["spoken"])
    with pytest.raises(DevctlError, match=words):
        handshake.take(answer(handshake, **changed))


@given(st.lists(st.binary(max_size=200), max_size=5), st.integers(1, 50))
def test_messages_arrive_whole_however_they_are_parted(messages: list[bytes], step: int) -> None:
    ours, theirs = socket.socketpair()
    data = b"".join(server_frame(2, message) for message in messages) + server_frame(8, b"")
    with theirs:

        def send() -> None:
            for at in range(0, len(data), step):
                theirs.sendall(data[at : at + step])

        sender = threading.Thread(target=send)
        sender.start()
        web_socket = opened(ours)
        assert [web_socket.receive() for _ in messages] == messages
        assert web_socket.receive() is None
        sender.join()
        web_socket.close()


def test_silence_is_broken_by_pings(pair: tuple[WebSocket, socket.socket]) -> None:
    web_socket, theirs = pair

    def reply() -> None:
        assert theirs.recv(2) == bytes([0x80 | PING, 0x80])
        theirs.sendall(server_frame(2, b"awake"))

    thread = threading.Thread(target=reply)
    thread.start()
    assert web_socket.receive() == b"awake"
    thread.join()


def test_whoever_receives_is_not_held_up_by_whoever_sends(
    pair: tuple[WebSocket, socket.socket],
) -> None:
    web_socket, theirs = pair
    sender = threading.Thread(target=lambda: web_socket.send(b"", b"x" * 5_000_000))
    sender.start()
    # They take nothing, but ask whether we are there.
    for number in range(100):
        theirs.sendall(server_frame(9, b"") + server_frame(2, b"%d" % number))
        assert web_socket.receive() == b"%d" % number
    assert sender.is_alive()
    taken = 0
    while taken < 5_000_000:
        taken += len(theirs.recv(1 << 20))
    sender.join()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x82\x85abcdhello", "not an API server's WebSocket"),
        (b"\xc2\x01a", "not an API server's WebSocket"),
        (b"\x82\x7f\x00\x00\x00\x01\x00\x00\x00\x00", r"over size limit|exceeds"),
        (b"\x82\x05hel", "broke off"),
        (b"\x82", "broke off"),
    ],
)
def test_what_no_api_server_sends(
    pair: tuple[WebSocket, socket.socket], data: bytes, words: str
) -> None:
    web_socket, theirs = pair
    theirs.sendall(data)
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionLostError, match=words):
        web_socket.receive()


def test_a_message_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devctl.kube.websocket.LARGEST", 100)
    ours, theirs = socket.socketpair()
    web_socket = opened(ours)
    theirs.sendall(server_frame(2, b"x" * 60, final=False) + server_frame(0, b"x" * 60))
    with pytest.raises(ConnectionLostError, match=r"over size limit|exceeds"):
        web_socket.receive()


def test_a_reset_connection_is_lost(pair: tuple[WebSocket, socket.socket]) -> None:
    web_socket, theirs = pair
    web_socket.send(b"a")
    theirs.close()  # with something unread: a reset
    with pytest.raises(ConnectionLostError):
        web_socket.receive()


def test_hanging_up_does_not_wait_for_whoever_takes_nothing(
    pair: tuple[WebSocket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    web_socket, _ = pair
    waits = waiting(web_socket._connection, monkeypatch)  # noqa: SLF001
    failed = threading.Event()

    def send() -> None:
        try:
            web_socket.send(b"", b"x" * 5_000_000)
        except ConnectionLostError:
            failed.set()

    sender = threading.Thread(target=send)
    sender.start()
    assert waits.wait(PATIENCE)
    web_socket.close()
    assert failed.wait(PATIENCE)
    sender.join()
