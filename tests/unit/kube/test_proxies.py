"""Which proxy is taken, as kubectl takes it."""

from __future__ import annotations

import httpx2
import pytest

from devctl.errors import DevctlError, UsageError
from devctl.kube.cluster import Cluster
from devctl.kube.kubeconfig import Access
from devctl.kube.proxies import find_proxy

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
PROXY = "http://proxy:3128"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def found(server: str = "https://api.example.com:6443", **cluster: str) -> str | None:
    named = {name.replace("_", "-"): value for name, value in cluster.items()}
    return find_proxy(Access(server, cluster=named))


@pytest.mark.parametrize(
    ("variables", "server", "wanted"),
    [
        ({}, "https://a", None),
        ({"HTTPS_PROXY": PROXY}, "https://a", PROXY),
        ({"https_proxy": PROXY}, "https://a", PROXY),
        ({"HTTPS_PROXY": PROXY, "https_proxy": "http://other"}, "https://a", PROXY),
        ({"HTTP_PROXY": PROXY}, "https://a", None),
        ({"http_proxy": PROXY}, "http://a", PROXY),
        ({"ALL_PROXY": "socks5://proxy"}, "https://a", "socks5://proxy"),
        ({"all_proxy": "socks5h://proxy", "HTTPS_PROXY": PROXY}, "https://a", PROXY),
        ({"HTTPS_PROXY": "proxy:3128"}, "https://a", PROXY),
        # Only a kubeconfig sends what is on this machine through a proxy.
        ({"HTTPS_PROXY": PROXY}, "https://localhost:6443", None),
        ({"HTTPS_PROXY": PROXY}, "https://127.0.0.2", None),
        ({"HTTPS_PROXY": PROXY}, "https://[::1]:6443", None),
    ],
)
def test_variables(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], server: str, wanted: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert found(server) == wanted


@pytest.mark.parametrize(
    ("no_proxy", "direct"),
    [
        ("*", True),
        ("example.com", True),
        (" other.org , EXAMPLE.com", True),
        (".example.com", True),
        ("*.example.com", True),
        ("api.example.com", True),
        ("api.example.com:6443", True),
        ("api.example.com:443", False),
        ("ample.com", False),
        (".api.example.com", False),
        ("10.0.0.0/8", False),
        ("[broken, api.example.com", True),
        (",", False),
    ],
)
def test_names_that_need_no_proxy(
    monkeypatch: pytest.MonkeyPatch, no_proxy: str, *, direct: bool
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert (found() is None) is direct


@pytest.mark.parametrize(
    ("server", "no_proxy", "direct"),
    [
        ("https://10.1.2.3:6443", "10.0.0.0/8", True),
        ("https://10.1.2.3:6443", "10.1.2.3", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", True),
        ("https://10.1.2.3:6443", "10.1.2.3:443", False),
        ("https://10.1.2.3:6443", "2.3", False),
        ("https://10.1.2.3:6443", "11.0.0.0/8", False),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
    ],
)
def test_addresses_that_need_no_proxy(
    monkeypatch: pytest.MonkeyPatch, server: str, no_proxy: str, *, direct: bool
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("no_proxy", no_proxy)
    assert (found(server) is None) is direct


def test_the_kubeconfigs_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", "*")
    named = "socks5://user:word@10.0.0.1:1080"
    assert found("https://127.0.0.1:6443", proxy_url=named) == named


@pytest.mark.parametrize("address", ["ftp://proxy", "http://", "proxy:3128", "http://proxy:port"])
def test_what_is_no_proxy(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    with pytest.raises(UsageError, match=r"proxy-url.*not the address of a proxy"):
        found(proxy_url=address)
    if "://" in address:
        monkeypatch.setenv("HTTPS_PROXY", address)
        with pytest.raises(UsageError, match="HTTPS_PROXY"):
            found()


def test_errors_name_the_proxy_and_keep_its_password() -> None:
    def refuse(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ProxyError("407 Proxy Authentication Required")

    access = Access("https://api", cluster={"proxy-url": "http://alice:secret@proxy:3128"})
    cluster = Cluster(access, httpx2.MockTransport(refuse))
    with pytest.raises(DevctlError) as caught:
        cluster.read("version")
    assert caught.value.message == (
        "the proxy does not lead to https://api through http://proxy:3128:"
        " 407 Proxy Authentication Required"
    )
    assert "HTTPS_PROXY" in caught.value.fix
