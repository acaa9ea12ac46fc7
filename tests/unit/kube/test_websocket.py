from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.kube.serial_tls import SerialTls
from devctl.kube.websocket import BINARY, PING, ConnectionLostError, WebSocket, frame, masked
from unit.kube.pod_server import server_frame

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def pair() -> Iterator[tuple[WebSocket, socket.socket]]:
    ours, theirs = socket.socketpair()
    web_socket = WebSocket(SerialTls(ours), "it", silence=0.05)
    with theirs:
        yield web_socket, theirs
    web_socket.close()


@given(st.binary(max_size=300), st.binary(min_size=4, max_size=4))
def test_masks_are_what_the_rfc_says(payload: bytes, key: bytes) -> None:
    assert masked(payload, key) == bytes(c ^ key[i % 4] for i, c in enumerate(payload))


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (0, b"\x82\x80"),
        (125, b"\x82\xfd"),
        (126, b"\x82\xfe\x00\x7e"),
        (65535, b"\x82\xfe\xff\xff"),
        (65536, b"\x82\xff\0\0\0\0\0\1\0\0"),
    ],
)
def test_lengths_have_three_forms(size: int, head: bytes) -> None:
    made = frame(BINARY, b"x" * size)
    assert made.startswith(head)
    assert len(made) == len(head) + 4 + size


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
        web_socket = WebSocket(SerialTls(ours), "it")
        assert [web_socket.receive() for _ in messages] == messages
        assert web_socket.receive() is None
        sender.join()
        web_socket.close()


def test_silence_is_broken_by_pings(pair: tuple[WebSocket, socket.socket]) -> None:
    web_socket, theirs = pair

    def answer() -> None:
        assert theirs.recv(2) == bytes([0x80 | PING, 0x80])
        theirs.sendall(server_frame(2, b"awake"))

    thread = threading.Thread(target=answer)
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
        (b"\x82\x85abcdhello", "no WebSocket"),
        (b"\xc2\x01a", "no WebSocket"),
        (b"\x82\x7f\x00\x00\x00\x01\x00\x00\x00\x00", "too long"),
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


def test_a_message_without_end(
    pair: tuple[WebSocket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devctl.kube.websocket.LARGEST", 100)
    web_socket, theirs = pair
    theirs.sendall(server_frame(2, b"x" * 60, final=False) + server_frame(0, b"x" * 60))
    with pytest.raises(ConnectionLostError, match="no end"):
        web_socket.receive()


def test_a_reset_connection_is_lost(pair: tuple[WebSocket, socket.socket]) -> None:
    web_socket, theirs = pair
    web_socket.send(b"a")
    theirs.close()  # with something unread: a reset
    with pytest.raises(ConnectionLostError):
        web_socket.receive()


def test_hanging_up_does_not_wait_for_whoever_takes_nothing(
    pair: tuple[WebSocket, socket.socket],
) -> None:
    web_socket, _ = pair
    failed = threading.Event()

    def send() -> None:
        try:
            web_socket.send(b"", b"x" * 5_000_000)
        except ConnectionLostError:
            failed.set()

    sender = threading.Thread(target=send)
    sender.start()
    sender.join(0.1)
    web_socket.close()
    assert failed.wait(5)
    sender.join()
