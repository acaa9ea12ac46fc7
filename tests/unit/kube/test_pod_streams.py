from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

import httpx2
import pytest

from devctl.errors import DevctlError, WaitTimeoutError
from devctl.kube.cluster import Cluster
from devctl.kube.kubeconfig import Access
from devctl.kube.pod_streams import open_exec
from unit.kube.certificates import in_base64
from unit.kube.pod_server import EXEC, Conversation, pod_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from unit.kube.certificates import Certificates


def raw(data: bytes) -> Callable[[Conversation], None]:
    return lambda client: client.connection.sendall(data)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (lambda client: client.accept("v4.channel.k8s.io"), "no streams that devctl understands"),
        (lambda client: client.accept(EXEC, key="another"), "breaks WebSockets"),
        (raw(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"), "was lost: .*SSH-2.0"),
        (raw(b"HTTP/1.1\r\n\r\n"), "was lost: .*HTTP/1.1"),
        (raw(b"HTTP/1.1 200"), "was lost: Server disconnected"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), "hello"),
        (raw(b"HTTP/1.1 502 Bad\r\nContent-Length: 900\r\n\r\n<h1>bad\n gate"), "<h1>bad gate"),
        (raw(b"HTTP/1.1 503 Bad\r\n\r\n"), "Service Unavailable"),
        (
            raw(
                b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
            ),
            "hello",
        ),
        (raw(b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\nwhat"), "Bad Request"),
        (raw(b"HTTP/1.1 799 Odd\r\nContent-Length: 0\r\n\r\n"), "an error"),
    ],
)
def test_answers_that_are_no_websocket(
    certificates: Certificates, script: Callable[[Conversation], None], words: str
) -> None:
    with (
        pod_server(certificates, script) as cluster,
        pytest.raises(DevctlError, match=words) as caught,
    ):
        open_exec(cluster, "p", ["x"])
    assert caught.value.fix


def test_a_server_that_says_nothing(
    certificates: Certificates,
) -> None:
    def script(client: Conversation) -> None:
        assert client.connection.recv(1) == b""

    with pod_server(certificates, script) as cluster:
        cluster._http.timeout = httpx2.Timeout(5, read=0.1)  # noqa: SLF001
        with pytest.raises(WaitTimeoutError, match="does not answer in time"):
            open_exec(cluster, "p", ["x"])


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    cluster = Cluster(Access(f"http://127.0.0.1:{port}"))
    with pytest.raises(DevctlError, match=f"127.0.0.1:{port} cannot be reached: Connection"):
        open_exec(cluster, "p", ["x"])


def test_a_certificate_of_another_authority(certificates: Certificates) -> None:
    def script(_client: Conversation) -> None:
        raise AssertionError("the client goes on")

    with pod_server(certificates, script) as cluster:
        trusted = {"certificate-authority-data": in_base64(certificates.user)}
        other = Cluster(Access(cluster.server, cluster=trusted))
        with pytest.raises(DevctlError, match="not trusted") as caught:
            open_exec(other, "p", ["x"])
    assert "certificate-authority" in caught.value.fix


def test_a_client_certificate_and_another_name_of_the_server(certificates: Certificates) -> None:
    def script(client: Conversation) -> None:
        assert isinstance(client.connection, ssl.SSLSocket)
        found = client.connection.getpeercert()
        assert found is not None
        assert found["subject"] == ((("commonName", "user"),),)
        client.accept(EXEC)
        client.exit(0)

    user = {
        "client-certificate": str(certificates.user),
        "client-key-data": in_base64(certificates.user_key),
    }
    with pod_server(certificates, script) as cluster:
        access = Access(
            cluster.server,
            cluster={
                "certificate-authority": str(certificates.authority),
                "tls-server-name": "kubernetes",
            },
            user=user,
        )
        with open_exec(Cluster(access), "p", ["x"]) as stream:
            assert list(stream.read()) == []
