from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devctl.errors import ConnectionLostError, DevctlError, NotFoundError
from devctl.kube.pod_streams import open_port_forward
from unit.kube.pod_server import PORT_FORWARD, Conversation, pod_server, server_frame

if TYPE_CHECKING:
    from unit.kube.certificates import Certificates

PORT = (8888).to_bytes(2, "little")


def greet(client: Conversation) -> None:
    client.accept(PORT_FORWARD)
    client.send(0, PORT)
    client.send(1, PORT)


def test_bytes_go_both_ways_until_the_other_side_ends(certificates: Certificates) -> None:
    def script(client: Conversation) -> None:
        assert client.path == "/api/v1/namespaces/other/pods/p/portforward"
        assert client.query == [("ports", "8888")]
        assert client.header("Sec-WebSocket-Protocol") == PORT_FORWARD
        greet(client)
        assert client.message() == b"\0GET"
        client.send(0, b"one")
        client.send(0, b"two")
        client.connection.sendall(server_frame(2, b"") + server_frame(8, b"\3\xe8"))
        assert client.message() == b""

    with (
        pod_server(certificates, script) as cluster,
        open_port_forward(cluster, "p", 8888, "other") as stream,
    ):
        stream.write(b"GET")
        assert [stream.read(), stream.read(), stream.read()] == [b"one", b"two", b""]


def test_large_amounts_are_parted(certificates: Certificates) -> None:
    data = b"0123456789" * 30_000

    def script(client: Conversation) -> None:
        greet(client)
        received = b""
        while len(received) < len(data):
            received += client.message()[1:]
        assert received == data

    with pod_server(certificates, script) as cluster, open_port_forward(cluster, "p", 1) as stream:
        stream.write(data)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"dial tcp4 127.0.0.1:8888: connect: connection refused", "nothing listens on port 8888"),
        (b"network is down", "cannot be reached: network is down"),
    ],
)
def test_why_a_port_cannot_be_reached(said: bytes, words: str) -> None:
    def script(client: Conversation) -> None:
        greet(client)
        client.send(1, said)

    with (
        pod_server(None, script) as cluster,
        open_port_forward(cluster, "p", 8888) as stream,
        pytest.raises(DevctlError, match=words),
    ):
        stream.read()


def test_a_broken_connection_is_no_end() -> None:
    with (
        pod_server(None, greet) as cluster,
        open_port_forward(cluster, "p", 8888) as stream,
        pytest.raises(ConnectionLostError),
    ):
        stream.read()


def test_no_such_pod() -> None:
    with (
        pod_server(
            None, lambda client: client.refuse(404, message='pods "p" not found')
        ) as cluster,
        pytest.raises(NotFoundError, match='pods "p" not found'),
    ):
        open_port_forward(cluster, "p", 8888)
