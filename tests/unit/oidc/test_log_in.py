from __future__ import annotations

import socket
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from devctl.errors import (
    DeniedError,
    DevctlError,
    HostError,
    UsageError,
    WaitTimeoutError,
)
from devctl.oidc import session
from devctl.oidc.registration import Registration
from unit.kube.certificates import make_certificates
from unit.oidc.fake_provider import CLIENT, ISSUER, REGISTRATION, FakeProvider, refused
from unit.patience import PATIENCE
from unit.tls_server import serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devctl.oidc.device_code import Code
    from devctl.oidc.store import Session


def browser(provider: FakeProvider, *paths: str, **wrong: str) -> Callable[[str], object]:
    """Somebody who logs in at once, after their browser has visited other paths."""

    def visit(address: str) -> None:
        target = provider.authorize(address, **wrong)

        def go() -> None:
            root = target.partition("?")[0]
            with httpx2.Client(trust_env=False) as client:
                for path in paths:
                    assert client.get(root.rstrip("/") + path).status_code == 400
                client.get(target)

        threading.Thread(target=go).start()

    return visit


def log_in(
    provider: FakeProvider, registration: Registration = REGISTRATION, **about: Any
) -> Session:
    about = {"seconds": PATIENCE, "visit": browser(provider), **about}
    return session.log_in(registration, transport=provider, **about)[0]


def test_in_a_browser_with_pkce(provider: FakeProvider) -> None:
    found = log_in(provider)
    assert (found.name, found.subject) == ("alice@example.com", "1234")
    assert session.current(REGISTRATION) == found
    (asked,) = provider.asked("/authorize")
    assert asked["redirect_uri"].startswith("http://127.0.0.1:")
    assert asked["scope"] == "openid email profile offline_access"
    assert "prompt" not in asked
    (token,) = provider.asked("/token")
    assert token["redirect_uri"] == asked["redirect_uri"]
    assert 43 <= len(token["code_verifier"]) <= 128
    assert len({asked["state"], asked["nonce"], token["code_verifier"]}) == 3
    assert "client_secret" not in token


def test_each_login_has_secrets_of_its_own(provider: FakeProvider) -> None:
    for _ in range(2):
        log_in(provider)
    one, two = provider.asked("/authorize")
    for name in ("state", "nonce", "code_challenge"):
        assert one[name] != two[name]


def test_a_provider_without_offline_access_is_asked_in_googles_way(provider: FakeProvider) -> None:
    provider.metadata = {"scopes_supported": ["openid", "email"]}
    about: dict[str, Any] = {"client_secret": "x y", "scopes": ("groups",)}
    registration = Registration(ISSUER, CLIENT, **about)
    log_in(provider, registration)
    (asked,) = provider.asked("/authorize")
    assert asked["scope"] == "openid email profile groups"
    assert (asked["access_type"], asked["prompt"]) == ("offline", "consent")
    (token,) = provider.asked("/token")
    assert token["client_secret"] == about["client_secret"]


def test_other_visits_of_the_port_do_not_count(provider: FakeProvider) -> None:
    visit = browser(provider, "/favicon.ico", "/?code=evil&state=guess", "/?state=&code=x")
    log_in(provider, visit=visit)
    assert [form["code"] for form in provider.asked("/token")] == ["code-0"]


@pytest.mark.parametrize("wrong", [{"state": "other"}, {"iss": "https://other.example"}])
def test_the_answer_to_another_request_is_not_taken(
    provider: FakeProvider, wrong: dict[str, str]
) -> None:
    with pytest.raises(WaitTimeoutError):
        log_in(provider, visit=browser(provider, **wrong), seconds=0.5)
    assert not provider.asked("/token")


def test_a_verifier_that_is_not_the_challenges(provider: FakeProvider) -> None:
    def visit(address: str) -> None:
        browser(provider)(address)
        provider.challenges["code-0"] = "another"

    with pytest.raises(DeniedError, match="invalid_grant"):
        log_in(provider, visit=visit)


def test_a_person_who_refuses(provider: FakeProvider) -> None:
    visit = browser(provider, error="access_denied", error_description="no\x1b[2Jway")
    with pytest.raises(DeniedError) as caught:
        log_in(provider, visit=visit)
    assert caught.value.message == rf"{ISSUER} refused: access_denied: no\x1b[2Jway"


def test_a_registered_port(provider: FakeProvider) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        uri = f"http://localhost:{port}/back"
        registration = Registration(ISSUER, CLIENT, redirect_uri=uri)
        taken.listen()
        with pytest.raises(HostError, match=f"port {port} of this machine"):
            log_in(provider, registration)
    visit = browser(provider)
    log_in(provider, registration, visit=lambda a: visit(a.replace("localhost", "127.0.0.1")))
    assert provider.asked("/authorize")[-1]["redirect_uri"] == uri.replace("localhost", "127.0.0.1")
    assert provider.asked("/token")[-1]["redirect_uri"] == uri


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"claims": {"iss": "https://evil.example"}}, "issuer"),
        ({"claims": {"aud": "other"}}, "[Aa]udience"),
        ({"claims": {"aud": [CLIENT, "other"]}}, "another client"),
        ({"claims": {"azp": "other"}}, "another client"),
        ({"claims": {"exp": int(time.time()) - 3600}}, "expired"),
        ({"claims": {"iat": int(time.time()) + 3600}}, "not yet valid"),
        ({"claims": {"nbf": int(time.time()) + 3600}}, "not yet valid"),
        ({"claims": {"nonce": "other"}}, "nonce"),
        ({"claims": {"nonce": None}}, "nonce"),
        ({"claims": {"sub": None}}, "sub"),
        ({"claims": {"exp": None}}, "exp"),
        ({"claims": {"iat": None}}, "iat"),
        ({"key": 1}, "[Ss]ignature"),
        ({"header": {"kid": "other"}}, "does not publish the key"),
        ({"algorithm": "none", "key": None}, "its algorithm is `none`"),
        ({"algorithm": "HS256", "key": b"x" * 64}, "its algorithm is `HS256`"),
        ({"algorithm": "HS256", "key": b"x" * 64, "header": {"alg": "\x1b]0;x\x07"}}, r"\\x1b"),
    ],
)
def test_id_tokens_that_are_not_valid(
    provider: FakeProvider, about: dict[str, Any], words: str
) -> None:
    for name, value in about.items():
        setattr(provider, name, value)
    with pytest.raises(DeniedError, match=words) as caught:
        log_in(provider)
    assert caught.value.message.isprintable()
    assert caught.value.fix
    with pytest.raises(DeniedError, match="not logged in"):
        session.current(REGISTRATION)


def test_clocks_may_differ_by_a_minute(provider: FakeProvider) -> None:
    provider.claims = {"iat": int(time.time()) + 30, "exp": int(time.time()) + 330}
    found = log_in(provider)
    assert 299 <= found.expires_at - found.received_at <= 301


def test_no_id_token_at_all(provider: FakeProvider) -> None:
    provider.answers["/token"] = httpx2.Response(200, json={"access_token": "x"})
    with pytest.raises(DeniedError, match="there is none"):
        log_in(provider)


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        ("/.well-known/openid-configuration", httpx2.Response(404), "answers 404"),
        ("/.well-known/openid-configuration", httpx2.Response(200, text="<html>"), "not hold JSON"),
        ("/.well-known/openid-configuration", httpx2.Response(200, json=[]), "not hold an object"),
        ("/.well-known/openid-configuration", httpx2.Response(302), "answers 302"),
        ("/.well-known/openid-configuration", httpx2.Response(503), "failed with 503"),
        ("/.well-known/openid-configuration", httpx2.Response(200, content=b" " * 2**21), "long"),
        ("/token", httpx2.Response(200, text="<html>\x1b[31m"), "MissingToken|missing|does not"),
        ("/token", httpx2.Response(200, json=[1]), "does not answer as"),
        ("/token", httpx2.Response(200, json={"access_token": "x", "expires_in": {}}), "must be"),
        ("/token", refused("evil\x1b[31m\n" * 400), r"evil\\x1b"),
        ("/keys", httpx2.Response(200, json={"keys": [1, {"kty": "oct", "k": "eA"}]}), "publish"),
        ("/keys", httpx2.Response(500), "failed with 500"),
    ],
)
def test_providers_that_are_none(
    provider: FakeProvider, path: str, answer: httpx2.Response, words: str
) -> None:
    provider.answers[path] = answer
    with pytest.raises(DevctlError, match=words) as caught:
        log_in(provider)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 500
    assert caught.value.fix


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"issuer": f"{ISSUER}/"}, "calls itself"),
        ({"authorization_endpoint": "http://login.example/"}, "invalid `authorization_endpoint`"),
        ({"authorization_endpoint": ["x"]}, "invalid `authorization_endpoint`"),
        ({"authorization_endpoint": ""}, "lacks `authorization_endpoint`"),
        ({"token_endpoint": "file:///etc/passwd"}, "invalid `token_endpoint`"),
        ({"token_endpoint": None}, "lacks `token_endpoint`"),
        ({"jwks_uri": "http://login.example/keys"}, "invalid `jwks_uri`"),
    ],
)
def test_discovery_that_is_not_valid(
    provider: FakeProvider, metadata: dict[str, Any], words: str
) -> None:
    provider.metadata = metadata
    with pytest.raises(DevctlError, match=words):
        log_in(provider)


class Unreachable(httpx2.BaseTransport):
    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("[Errno 111] refused", request=request)


def test_a_provider_that_cannot_be_reached() -> None:
    with pytest.raises(DevctlError, match="cannot be reached") as caught:
        session.log_in(REGISTRATION, transport=Unreachable())
    assert caught.value.exit_code == 1


def test_missing_libraries(monkeypatch: pytest.MonkeyPatch, provider: FakeProvider) -> None:
    monkeypatch.setitem(sys.modules, "oauthlib", None)
    with pytest.raises(HostError) as caught:
        log_in(provider)
    assert caught.value.fix == "install devctl with it: `pip install 'devctl[oidc]'`"


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long somebody would have waited."""
    found: list[float] = []
    # Not the sleep of all modules: other threads of the tests sleep, too.
    clock = SimpleNamespace(sleep=found.append, monotonic=time.monotonic)
    monkeypatch.setattr("devctl.oidc.device_code.time", clock)
    return found


def by_device(provider: FakeProvider, codes: list[Code] | None = None) -> Session:
    show = (codes if codes is not None else []).append
    return session.log_in(REGISTRATION, show=show, transport=provider)[0]


def test_by_device_code(provider: FakeProvider, naps: list[float]) -> None:
    provider.pending = ["authorization_pending", "slow_down", "authorization_pending"]
    codes: list[Code] = []
    found = by_device(provider, codes)
    assert session.current(REGISTRATION) == found
    assert codes == [
        (
            "ABCD-EFGH",
            "https://login.example/device",
            "https://login.example/device?c=ABCD-EFGH",
        )
    ]
    assert [nap for nap in naps if nap] == [5, 5, 10, 10]
    assert provider.asked("/device")[0]["client_id"] == CLIENT
    assert all(form["client_id"] == CLIENT for form in provider.asked("/token"))


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        ("access_denied", DeniedError, "access_denied"),
        ("expired_token", WaitTimeoutError, "nobody has logged in"),
        ("invalid_client", DeniedError, "invalid_client"),
    ],
)
@pytest.mark.usefixtures("naps")
def test_device_codes_that_fail(
    provider: FakeProvider, said: str, kind: type[DevctlError], words: str
) -> None:
    provider.pending = [said]
    with pytest.raises(kind, match=words):
        by_device(provider)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx2.Response(200, text="no"), "not JSON"),
        (httpx2.Response(200, json=[]), "not an object"),
        (httpx2.Response(200, json={}), "no device code"),
        (refused("unauthorized_client", "not\x07this one"), r"unauthorized_client: not\\x07"),
        (
            httpx2.Response(
                200,
                json={"device_code": "x", "user_code": "y", "verification_uri": "file:///etc"},
            ),
            "no https address",
        ),
    ],
)
def test_device_answers_that_are_not_valid(
    provider: FakeProvider, answer: httpx2.Response, words: str
) -> None:
    provider.answers["/device"] = answer
    with pytest.raises(DevctlError, match=words):
        by_device(provider)


def test_a_whole_address_elsewhere_is_not_shown(provider: FakeProvider, naps: list[float]) -> None:
    del naps
    about = {
        "device_code": "the-device",
        "user_code": "y",
        "verification_uri": "https://login.example/d",
        "verification_uri_complete": "https://evil.example/d?y",
        "interval": "often",
        "expires_in": -1,
    }
    provider.answers["/device"] = httpx2.Response(200, json=about)
    codes: list[Code] = []
    by_device(provider, codes)
    assert codes == [("y", "https://login.example/d", "")]


def test_no_device_codes(provider: FakeProvider) -> None:
    provider.metadata = {"device_authorization_endpoint": None}
    with pytest.raises(UsageError, match="offers no device codes"):
        by_device(provider)


def test_without_a_browser_a_device_code_if_there_are_any(
    provider: FakeProvider, naps: list[float]
) -> None:
    codes: list[Code] = []
    log_in(provider, show=codes.append)
    assert codes
    assert not provider.asked("/authorize")
    assert naps
    provider.metadata = {"device_authorization_endpoint": None}
    log_in(provider, show=codes.append)
    assert len(codes) == 1


def test_a_provider_with_an_authority_of_its_own(tmp_path: Path) -> None:
    """A real server on this machine: its certificate counts with that authority only."""
    certificates = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)

    class NoProvider(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_about: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), NoProvider) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        issuer = f"https://127.0.0.1:{server.server_port}"
        trusted = Registration(issuer, CLIENT, certificates.authority.read_text())
        with serving(server):
            for registration, words in (
                (trusted, "answers 404"),
                (Registration(issuer, CLIENT), "cannot be reached.*[Cc]ertificate|certificate"),
            ):
                with pytest.raises(DevctlError, match=words):
                    session.log_in(registration)
    with pytest.raises(UsageError, match="cannot be used"):
        session.log_in(Registration(issuer, CLIENT, "no certificate"))
