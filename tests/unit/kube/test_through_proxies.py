"""Requests and streams through real proxies on loopback."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.proxies import Proxy, forward_proxy

from devctl.errors import DevctlError
from devctl.kube.cluster import Cluster
from devctl.kube.kubeconfig import Access
from devctl.kube.pod_streams import open_exec
from unit.kube.certificates import in_base64
from unit.kube.pod_server import EXEC, Conversation, pod_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from unit.kube.certificates import Certificates

SCHEMES = ("http", "https", "socks5")
DATA = bytes(range(256)) * 4096 * 4


@pytest.fixture(params=SCHEMES)
def proxy(
    request: pytest.FixtureRequest, certificates: Certificates, tmp_path: Path
) -> Iterator[Proxy]:
    secure = request.param == "https"
    own = (certificates.server, certificates.server_key) if secure else ()
    with forward_proxy(request.param, tmp_path, *own) as running:
        yield running


def through(proxy: Proxy, cluster: Cluster, certificates: Certificates) -> Cluster:
    """The same cluster by way of a proxy."""
    about = {"certificate-authority-data": in_base64(certificates.authority)}
    access = Access(cluster.server, "team", cluster=about, user={"token": "secret"})
    return Cluster(replace(access, cluster=about | {"proxy-url": proxy.address}))


def test_a_stream_goes_both_ways_at_once(proxy: Proxy, certificates: Certificates) -> None:
    def echo(client: Conversation) -> None:
        assert client.header("Authorization") == "Bearer secret"
        client.accept(EXEC)
        while (message := client.message()) != b"\xff\0":
            client.send(1, message[1:])
        client.exit(0)

    with (
        pod_server(certificates, echo) as cluster,
        open_exec(through(proxy, cluster, certificates), "p", ["cat"], stdin=True) as stream,
    ):

        def feed() -> None:
            stream.write(DATA)
            stream.close_stdin()

        feeder = threading.Thread(target=feed)
        feeder.start()
        assert b"".join(data for _, data in stream.read()) == DATA
        assert stream.exit_code == 0
        feeder.join()
    assert len(proxy.connections()) == 1


def test_a_request(proxy: Proxy, certificates: Certificates) -> None:
    def answer(client: Conversation) -> None:
        assert client.path == "/version"
        client.answer(200, b"{}", "Content-Length: 2")

    with pod_server(certificates, answer) as cluster:
        assert through(proxy, cluster, certificates).read("version").json() == {}
    assert len(proxy.connections()) == 1


def test_a_proxy_that_leads_nowhere(certificates: Certificates, tmp_path: Path) -> None:
    with forward_proxy("http", tmp_path) as proxy:
        cluster = through(proxy, Cluster(Access("https://127.0.0.1:1")), certificates)
        with pytest.raises(DevctlError) as caught:
            cluster.read("version")
    assert f"through {proxy.address}" in caught.value.message
    with pytest.raises(DevctlError, match="cannot be reached") as caught:
        cluster.read("version")  # it is gone now
    assert f"through {proxy.address}" in caught.value.message
