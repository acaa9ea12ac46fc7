from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import yaml

from devctl.client.login.kubeconfig import exec_user
from devctl.kube.credentials import Authenticated, Login
from devctl.kube.kubeconfig import Access
from devctl.oidc import session, store
from devctl.oidc.provider import Provider
from unit.oidc.fake_provider import CLIENT, ISSUER, REGISTRATION, FakeProvider

if TYPE_CHECKING:
    from pathlib import Path

    from devctl.oidc.store import Session
    from unit.cli.conftest import Devctl
    from unit.client.fake_cluster import FakeApi

HERE = ("--issuer", ISSUER, "--client-id", CLIENT)
ENDED = "error: you are not logged in at https://login.example/tenant: run `devctl login`\n"


@pytest.fixture(autouse=True)
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeProvider:
    """The provider that all requests reach; codes are confirmed at once."""
    found = FakeProvider()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("devctl.oidc.device_code.time.sleep", lambda _: None)
    init = Provider.__init__
    monkeypatch.setattr(Provider, "__init__", lambda self, where, _: init(self, where, found))
    return found


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The kubeconfig that an administrator hands out."""
    named = {"name": "x", "user": exec_user(ISSUER, CLIENT)}
    config = {
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": "https://cluster"}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "users": [named],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    return config


def test_login_and_logout(
    devctl: Devctl, kubeconfig: dict[str, Any], provider: FakeProvider
) -> None:
    assert kubeconfig
    found = devctl("login")
    assert (found.code, found.stdout) == (0, "")
    lines = found.stderr.splitlines()
    assert lines[:4] == [
        "on any machine, open https://login.example/device and enter the code ABCD-EFGH",
        "or open https://login.example/device?c=ABCD-EFGH",
        "waiting until you have logged in",
        f"logged in at {ISSUER} as alice@example.com",
    ]
    assert lines[4].endswith("; next: `devctl whoami`")
    assert devctl("logout").stderr == f"logged out at {ISSUER}\n"
    assert not provider.refresh_tokens
    assert devctl("logout").stderr == f"you were not logged in at {ISSUER}\n"


def test_a_device_code_in_terms_of_control_characters(
    devctl: Devctl, provider: FakeProvider
) -> None:
    provider.claims = {"email": "alice\x1b[31m@example.com"}
    found = devctl("login", *HERE, "--device")
    assert r"as alice\x1b[31m@example.com" in found.stderr


def test_a_session_that_cannot_be_refreshed(
    devctl: Devctl, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = httpx2.Response(200, json={"access_token": "x", "id_token": provider.id_token()})
    monkeypatch.setattr(provider, "_issue", lambda: answer)
    assert "gave no refresh token: log in again in 5 minutes" in devctl("login", *HERE).stderr


def test_a_logout_that_does_not_revoke(devctl: Devctl, provider: FakeProvider) -> None:
    devctl("login", *HERE)
    provider.metadata = {"revocation_endpoint": None}
    words = f"warning: the tokens were deleted here, but not revoked: {ISSUER} offers no revocation"
    assert words in devctl("logout", *HERE).stderr


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ({"token": "x"}, "error: the user `x` of the kubeconfig does not log in by devctl\n"),
        (
            {"exec": {"command": "devctl", "args": ["credential", "--issuer=x", "--client-id=y"]}},
            "https",
        ),
    ],
)
def test_a_kubeconfig_that_names_no_provider(
    devctl: Devctl, kubeconfig: dict[str, Any], tmp_path: Path, user: dict[str, Any], words: str
) -> None:
    kubeconfig["users"][0]["user"] = user
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    found = devctl("login")
    assert found.code == 2
    assert words in found.stderr


def test_credential_for_kubectl(devctl: Devctl, provider: FakeProvider) -> None:
    devctl("login", *HERE)
    provider.requests.clear()
    found = devctl(*exec_user(ISSUER, CLIENT)["exec"]["args"])
    assert (found.code, found.stderr) == (0, "")
    printed = json.loads(found.stdout)
    assert printed["apiVersion"] == "client.authentication.k8s.io/v1"
    assert printed["kind"] == "ExecCredential"
    assert printed["status"]["token"] == session.current(REGISTRATION).id_token
    ends = time.strptime(printed["status"]["expirationTimestamp"], "%Y-%m-%dT%H:%M:%SZ")
    assert ends
    assert not provider.requests


def test_credential_of_nobody(devctl: Devctl) -> None:
    found = devctl("credential", *HERE)
    assert (found.code, found.stdout, found.stderr) == (5, "", ENDED)


@pytest.mark.usefixtures("kubeconfig")
def test_any_command_of_nobody(devctl: Devctl) -> None:
    found = devctl("list")
    assert (found.code, found.stdout, found.stderr) == (5, "", ENDED)


def test_whoami(devctl: Devctl, api: FakeApi) -> None:
    found = devctl("whoami")
    assert found.stdout.splitlines() == [
        f"User:     {api.user}",
        "Groups:   ml, system:authenticated",
        "Login:    client certificate",
    ]
    assert json.loads(devctl("whoami", "-o", "json").stdout)["kind"] == "SelfSubjectReview"
    document = yaml.safe_load(devctl("whoami", "-o", "yaml").stdout)
    assert document["status"]["userInfo"]["username"] == api.user


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ({}, "no credentials"),
        ({"token": "x"}, "token"),
        ({"tokenFile": "x"}, "token in a file"),
        ({"username": "x", "as": "bob"}, "password, as `bob`"),
        ({"client-certificate-data": "x"}, "client certificate"),
        ({"exec": {"command": "aws"}}, "program `aws`"),
        (exec_user(ISSUER, CLIENT), f"OpenID Connect at {ISSUER}"),
    ],
)
def test_how_one_authenticates(user: dict[str, Any], words: str) -> None:
    assert Access("https://x", user=user).method == words


@pytest.fixture
def logged_in() -> Session:
    return session.log_in(REGISTRATION, show=lambda _: None)[0]


class ApiServer(httpx2.BaseTransport):
    """Accepts some tokens."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = tokens
        self.seen: list[str] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request.headers["Authorization"].removeprefix("Bearer "))
        return httpx2.Response(200 if self.seen[-1] in self.tokens else 401)


def asked(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> httpx2.Response:
    monkeypatch.setattr(httpx2, "HTTPTransport", lambda **_: server)
    carrier = Authenticated(Login(Access("http://x", user=exec_user(ISSUER, CLIENT))))
    return carrier.handle_request(httpx2.Request("GET", "http://x/version"))


def test_devctl_reads_the_token_itself(logged_in: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", None)
    server = ApiServer(logged_in.id_token)
    assert asked(server, monkeypatch).status_code == 200


def age(found: Session, seconds: float) -> None:
    """Make a stored token older."""
    store.save(REGISTRATION, replace(found, received_at=found.received_at - seconds))


def test_a_stored_token_that_the_api_server_refuses_is_refreshed(
    logged_in: Session, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(logged_in, 30)
    provider.requests.clear()
    server = ApiServer()
    with pytest.raises(Exception, match="does not accept your login at https://login") as caught:
        asked(server, monkeypatch)
    assert caught.value.exit_code == 5  # type: ignore[attr-defined]
    assert len(set(server.seen)) == 2
    # A new token that is refused as well is not refreshed again at once.
    with pytest.raises(Exception, match="does not accept"):
        asked(server, monkeypatch)
    assert len(provider.asked("/token")) == 1


@pytest.mark.usefixtures("kubeconfig")
def test_doctor_says_that_one_has_to_log_in(devctl: Devctl) -> None:
    found = {
        check["check"]: check
        for check in json.loads(devctl("doctor", "-o", "json").stdout)["checks"]
    }
    assert found["reachability"]["state"] == "skipped"
    assert found["credentials"]["state"] == "failed"
    assert found["credentials"]["found"] == ENDED.removeprefix("error: ").strip()
    assert found["versions"]["state"] == "skipped"
