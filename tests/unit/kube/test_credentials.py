from __future__ import annotations

import json
import ssl
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import truststore

from devctl.errors import DeniedError, DevctlError, UsageError
from devctl.kube import credentials
from devctl.kube.credentials import Authenticated, Login
from devctl.kube.kubeconfig import Access
from unit.kube.certificates import in_base64

if TYPE_CHECKING:
    from pathlib import Path

    from unit.kube.certificates import Certificates

V1 = "client.authentication.k8s.io/v1"
ONE, TWO = "one", "two"
PLUGIN = """
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
with open(here / "runs", "a") as runs:
    info = os.environ["KUBERNETES_EXEC_INFO"]
    print(json.dumps([sys.argv[1:], info, os.environ.get("OWN")]), file=runs)
print((here / "answer").read_text())
"""


class Plugin:
    """A login program that says what a file says, and notes its runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "plugin.py").write_text(PLUGIN)

    def says(self, **status: Any) -> None:
        (self.folder / "answer").write_text(json.dumps({"status": status}))

    def access(self, **about: Any) -> Access:
        wanted = {"apiVersion": V1, "command": sys.executable, "args": [str(self.script)], **about}
        return Access("http://cluster", user={"exec": wanted}, home=self.folder)

    @property
    def script(self) -> Path:
        return self.folder / "plugin.py"

    @property
    def runs(self) -> list[Any]:
        path = self.folder / "runs"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def bearer(login: Login) -> str:
    return dict(login.credentials().headers)["Authorization"]


def test_a_token_and_who_one_acts_as() -> None:
    user = {"token": "secret", "as": "bob", "as-groups": ["a", "b"]}
    assert Login(Access("http://x", user=user)).credentials().headers == [
        ("Authorization", "Bearer secret"),
        ("Impersonate-User", "bob"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
    ]


def test_a_name_and_a_password() -> None:
    login = Login(Access("http://x", user={"username": "Aladdin", "password": "open sesame"}))
    assert bearer(login) == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    assert login.credentials().tls is None


def test_a_token_with_a_line_break_is_not_sent() -> None:
    login = Login(Access("http://x", user={"token": "a\r\nX-Evil: 1"}))
    with pytest.raises(DevctlError, match="line break"):
        login.credentials()


def test_a_token_file_is_read_each_time(tmp_path: Path) -> None:
    path = tmp_path / "token"
    login = Login(Access("http://x", user={"tokenFile": str(path)}))
    with pytest.raises(DevctlError, match="token file"):
        login.credentials()
    for token in ("one", "two"):
        path.write_text(f"{token}\n")
        assert bearer(login) == f"Bearer {token}"
    assert login.renew()


def test_nothing_to_renew() -> None:
    assert not Login(Access("http://x", user={"token": "secret"})).renew()


def test_what_devctl_cannot_do_is_said() -> None:
    with pytest.raises(UsageError, match="which devctl does not support"):
        Login(Access("http://x", user={"auth-provider": {"name": "gcp"}}))


@pytest.mark.parametrize(
    ("system", "kind"), [("Darwin", truststore.SSLContext), ("Linux", ssl.SSLContext)]
)
def test_without_an_authority_the_systems_count(
    monkeypatch: pytest.MonkeyPatch, system: str, kind: type[ssl.SSLContext]
) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("platform.system", lambda: system)
    found = Login(Access("https://x")).credentials().tls
    assert type(found) is kind
    assert found is not None
    assert found.verify_mode is ssl.CERT_REQUIRED
    assert not found.verify_flags & ssl.VERIFY_X509_STRICT


def test_a_plugin_runs_once_in_the_life_of_its_answer(plugin: Plugin) -> None:
    plugin.says(token=ONE, expirationTimestamp=in_seconds(3600))
    login = Login(plugin.access(env=[{"name": "OWN", "value": "x"}]))
    assert [bearer(login) for _ in range(3)] == ["Bearer one"] * 3
    ((args, info, own),) = plugin.runs
    assert (args, own) == ([], "x")
    assert json.loads(info) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }


def test_a_plugin_runs_again_when_its_answer_ends(
    plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin.says(token=ONE)
    login = Login(plugin.access())
    bearer(login)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + credentials.LIFE / 2)
    bearer(login)
    assert len(plugin.runs) == 1
    monkeypatch.setattr(time, "time", lambda: now + credentials.LIFE + 1)
    bearer(login)
    assert len(plugin.runs) == 2


def test_an_answer_that_has_ended_already_is_used_once(plugin: Plugin) -> None:
    plugin.says(token=ONE, expirationTimestamp="2020-01-01T00:00:00Z")
    login = Login(plugin.access())
    assert bearer(login) == "Bearer one"
    bearer(login)
    assert len(plugin.runs) == 2


def test_a_refused_answer_is_asked_for_anew_but_not_at_once(
    plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin.says(token=ONE)
    login = Login(plugin.access())
    bearer(login)
    assert not login.renew()
    monkeypatch.setattr(credentials, "_JUST_NOW", 0.0)
    assert login.renew()
    plugin.says(token=TWO)
    assert bearer(login) == "Bearer two"


def test_a_plugin_gives_a_certificate(plugin: Plugin, certificates: Certificates) -> None:
    plugin.says(
        clientCertificateData=certificates.user.read_text(),
        clientKeyData=certificates.user_key.read_text(),
    )
    access = plugin.access(provideClusterInfo=True)
    cluster = {"certificate-authority-data": in_base64(certificates.authority)}
    login = Login(Access("https://cluster", cluster=cluster, user=access.user))
    first = login.credentials()
    assert first.tls is login.credentials().tls
    assert first.headers == []
    spec = json.loads(plugin.runs[0][1])["spec"]
    assert spec["cluster"] == {"server": "https://cluster", **cluster}


def test_a_program_beside_the_kubeconfig(plugin: Plugin) -> None:
    script = plugin.folder / "bin" / "login"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\necho \'{"status": {"token": "near"}}\'\n')
    script.chmod(0o755)
    assert bearer(Login(plugin.access(command="bin/login"))) == "Bearer near"


@pytest.mark.parametrize(
    ("about", "kind", "words"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, UsageError, "v1alpha1"),
        ({"command": ""}, UsageError, "login program"),
        ({"interactiveMode": "Always"}, UsageError, "no terminal"),
        ({"command": "no-such-program"}, DevctlError, "cannot be run: No such file"),
        ({"args": ["-c", "raise SystemExit(3)"]}, DeniedError, "exit code 3"),
        ({"args": ["-c", "print('hello')"]}, DevctlError, "not print an ExecCredential"),
        ({"args": ["-c", "print('[]')"]}, DevctlError, "not print an ExecCredential"),
        ({"args": ["-c", "print('{\"status\": {}}')"]}, DevctlError, "neither a token nor"),
    ],
)
def test_plugins_that_fail(
    plugin: Plugin, about: dict[str, Any], kind: type[DevctlError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        Login(plugin.access(**about)).credentials()
    assert caught.value.fix


def test_an_install_hint_is_what_to_do(plugin: Plugin) -> None:
    access = plugin.access(command="no-such-program", installHint="get it\n  at x")
    with pytest.raises(DevctlError) as caught:
        Login(access).credentials()
    assert caught.value.fix == "get it at x"


def test_who_is_to_be_trusted(certificates: Certificates) -> None:
    cluster: dict[str, Any] = {"certificate-authority": str(certificates.authority)}
    tls = Login(Access("https://x", cluster=cluster)).credentials().tls
    assert tls is not None
    assert tls.verify_mode is ssl.CERT_REQUIRED
    assert not tls.verify_flags & ssl.VERIFY_X509_STRICT
    cluster = {"insecure-skip-tls-verify": True}
    tls = Login(Access("https://x", cluster=cluster)).credentials().tls
    assert tls is not None
    assert tls.verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize(
    ("cluster", "user", "words"),
    [
        ({"certificate-authority": "/absent"}, {}, "certificate-authority"),
        ({"certificate-authority-data": "AAAA"}, {}, "certificate-authority"),
        ({"certificate-authority-data": "?A"}, {}, "not base64"),
        ({}, {"client-certificate": "/absent"}, "client certificate"),
        ({}, {"client-certificate-data": "AAAA", "client-key-data": "AAAA"}, "client certificate"),
        ({}, {"client-certificate-data": "AAAA"}, "client certificate"),
    ],
)
def test_files_that_cannot_be_used(
    cluster: dict[str, Any], user: dict[str, Any], words: str
) -> None:
    with pytest.raises(DevctlError, match=words):
        Login(Access("https://x", cluster=cluster, user=user)).credentials()


class Network(httpx2.BaseTransport):
    """What a request would go out to."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.requests: list[httpx2.Request] = []
        self.closed = False

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return httpx2.Response(self.codes.pop(0))

    def close(self) -> None:
        self.closed = True


def carried(
    monkeypatch: pytest.MonkeyPatch, access: Access, *codes: int
) -> tuple[Network, httpx2.Client]:
    network = Network(*codes)
    monkeypatch.setattr(httpx2, "HTTPTransport", lambda **_: network)
    client = httpx2.Client(transport=Authenticated(Login(access)), base_url=access.server)
    return network, client


def test_each_request_says_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    user = {"token": "secret", "as": "bob", "as-groups": ["a", "b"]}
    access = Access("http://x", user=user, cluster={"tls-server-name": "kubernetes"})
    network, client = carried(monkeypatch, access, 200)
    with client:
        client.get("/version", headers={"X-Own": "1"})
    headers = network.requests[0].headers
    assert headers["Authorization"] == "Bearer secret"
    assert headers.get_list("Impersonate-Group") == ["a", "b"]
    assert headers["X-Own"] == "1"
    assert network.requests[0].extensions["sni_hostname"] == "kubernetes"
    assert network.closed


def test_a_refused_request_is_repeated_once_with_its_body(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    access = Access("http://x", user={"tokenFile": str(path)})
    network, client = carried(monkeypatch, access, 401, 401)
    assert client.post("/a", content=b"body").status_code == 401
    assert [request.read() for request in network.requests] == [b"body", b"body"]
    assert len(network.requests[1].headers.get_list("Authorization")) == 1
