from __future__ import annotations

import json
import os
import stat
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from devctl.errors import BusyError, DeniedError, DevctlError, HostError
from devctl.oidc import session, store
from devctl.oidc.registration import Registration
from unit.oidc.fake_provider import CLIENT, ISSUER, LIFE, REGISTRATION, FakeProvider, refused

if TYPE_CHECKING:
    from pathlib import Path

    from devctl.oidc.store import Session

PATH = "/token"


@pytest.fixture
def logged_in(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A person who is logged in, and whose device codes take no time."""
    with monkeypatch.context() as patch:
        patch.setattr("devctl.oidc.device_code.time.sleep", lambda _: None)
        found, _ = session.log_in(REGISTRATION, show=lambda _: None, transport=provider)
    provider.requests.clear()
    return found


def expire(found: Session) -> None:
    """Let a stored token expire."""
    now = time.time()
    store.save(REGISTRATION, replace(found, received_at=now - 2 * LIFE, expires_at=now - LIFE))


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> float:
    """The time, which stands still."""
    stopped = time.time()
    monkeypatch.setattr(session, "time", SimpleNamespace(time=lambda: stopped))
    return stopped


def test_a_fresh_token_needs_no_request(provider: FakeProvider, logged_in: Session) -> None:
    assert session.current(REGISTRATION, transport=provider) == logged_in
    assert not provider.requests


def test_a_token_is_refreshed_and_its_refresh_token_rotates(
    provider: FakeProvider, logged_in: Session
) -> None:
    expire(logged_in)
    found = session.current(REGISTRATION, transport=provider)
    assert found.id_token != logged_in.id_token
    assert found.refresh_token != logged_in.refresh_token
    assert session.current(REGISTRATION) == found
    (form,) = provider.asked(PATH)
    assert (form["client_id"], form["refresh_token"]) == (CLIENT, logged_in.refresh_token)


def test_a_refresh_token_that_does_not_rotate_is_kept(
    provider: FakeProvider, logged_in: Session
) -> None:
    provider.answers[PATH] = httpx2.Response(
        200, json={"access_token": "x", "id_token": provider.id_token()}
    )
    expire(logged_in)
    found = session.current(REGISTRATION, transport=provider)
    assert found.refresh_token == logged_in.refresh_token


@pytest.mark.parametrize(
    ("received", "expires", "fresh"),
    [
        (0, 3600, True),
        (-3500, 100, True),
        (-3550, 50, False),
        (-3600, 0, False),
        (-1, 30, True),
        (-20, 10, False),
        (+600, 4200, False),  # the clock was set back
    ],
)
def test_when_a_token_is_refreshed(  # noqa: PLR0913 - three are fixtures
    provider: FakeProvider,
    logged_in: Session,
    now: float,
    received: float,
    expires: float,
    *,
    fresh: bool,
) -> None:
    old = replace(logged_in, received_at=now + received, expires_at=now + expires)
    store.save(REGISTRATION, old)
    found = session.current(REGISTRATION, transport=provider)
    assert (found == old) is fresh


def test_a_refused_token_is_refreshed_once(provider: FakeProvider, logged_in: Session) -> None:
    refused_token = logged_in.id_token
    found = session.current(REGISTRATION, refused=refused_token, transport=provider)
    assert found.id_token != refused_token
    assert session.current(REGISTRATION, refused=refused_token, transport=provider) == found
    assert len(provider.asked(PATH)) == 1


def test_a_session_that_was_revoked(provider: FakeProvider, logged_in: Session) -> None:
    provider.refresh_tokens.clear()
    expire(logged_in)
    expected = [
        "your login at login.example has ended (invalid_grant): run `devctl login`",
        f"you are not logged in at {ISSUER}: run `devctl login`",
    ]
    for message in expected:
        with pytest.raises(DeniedError) as caught:
            session.current(REGISTRATION, transport=provider)
        assert caught.value.lines() == [f"error: {message}"]
        assert (caught.value.exit_code, caught.value.reason) == (5, session.LOGIN_REQUIRED)
    assert len(provider.asked(PATH)) == 1


def test_a_session_without_a_refresh_token(
    provider: FakeProvider, logged_in: Session, now: float
) -> None:
    expire(replace(logged_in, refresh_token=""))
    with pytest.raises(DeniedError, match=r"has expired: run `devctl login`"):
        session.current(REGISTRATION, transport=provider)
    ending = replace(logged_in, refresh_token="", received_at=now - LIFE, expires_at=now + 9)
    store.save(REGISTRATION, ending)
    assert session.current(REGISTRATION, transport=provider) == ending


def test_a_provider_that_refreshes_no_id_tokens(provider: FakeProvider, logged_in: Session) -> None:
    provider.answers[PATH] = httpx2.Response(200, json={"access_token": "x"})
    expire(logged_in)
    with pytest.raises(DeniedError, match=r"refreshes no ID tokens.*`devctl login`"):
        session.current(REGISTRATION, transport=provider)


@pytest.mark.parametrize("answer", [httpx2.Response(503), refused("temporarily_unavailable")])
def test_a_provider_that_is_down_does_not_end_a_session(
    provider: FakeProvider, logged_in: Session, answer: httpx2.Response, now: float
) -> None:
    provider.answers[PATH] = answer
    ending = replace(logged_in, received_at=now - LIFE, expires_at=now + 9)
    store.save(REGISTRATION, ending)
    assert session.current(REGISTRATION, transport=provider) == ending
    expire(logged_in)
    with pytest.raises(DevctlError) as caught:
        session.current(REGISTRATION, transport=provider)
    assert "devctl login" not in str(caught.value)
    del provider.answers[PATH]
    assert session.current(REGISTRATION, transport=provider)


def test_a_refreshed_token_about_somebody_else(provider: FakeProvider, logged_in: Session) -> None:
    provider.claims = {"sub": "5678"}
    expire(logged_in)
    with pytest.raises(DeniedError, match="about somebody else"):
        session.current(REGISTRATION, transport=provider)


def test_two_at_once_refresh_once(provider: FakeProvider, logged_in: Session) -> None:
    provider.delay = 0.3
    expire(logged_in)
    found: list[Session] = []

    def ask() -> None:
        found.append(session.current(REGISTRATION, transport=provider))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == 1
    assert len(provider.asked(PATH)) == 1


def test_another_one_that_does_not_finish(
    logged_in: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    expire(logged_in)
    with store.locked(REGISTRATION), pytest.raises(BusyError):
        session.current(REGISTRATION)


def test_files_are_private_and_replaced_as_a_whole(
    provider: FakeProvider, logged_in: Session, state: Path
) -> None:
    os.umask(0o000)
    try:
        expire(logged_in)
        session.current(REGISTRATION, transport=provider)
    finally:
        os.umask(0o022)
    (path,) = state.glob("*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert {file.suffix for file in state.iterdir()} == {".json", ".lock"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe",
        b'{"kept_in": "keyring"}',
        b'{"issuer": 1}',
    ],
)
def test_a_corrupt_file(
    provider: FakeProvider, logged_in: Session, state: Path, content: bytes
) -> None:
    (path,) = state.glob("*.json")
    path.write_bytes(content)
    with pytest.raises(DeniedError, match=r"cannot be read.*: run `devctl login`") as caught:
        session.current(REGISTRATION, transport=provider)
    assert len(caught.value.lines()) == 1
    assert session.log_out(REGISTRATION, transport=provider)[0]
    assert not path.exists()
    store.save(REGISTRATION, logged_in)
    assert session.current(REGISTRATION) == logged_in


@pytest.mark.parametrize(
    "change",
    [{"issuer": "https://evil.example"}, {"id_token": 1}, {"expires_at": "soon"}, {"x": 1}],
)
def test_a_file_of_something_else(logged_in: Session, state: Path, change: dict[str, Any]) -> None:
    (path,) = state.glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert logged_in
    with pytest.raises(DeniedError, match="cannot be read"):
        session.current(REGISTRATION)


def test_a_folder_that_cannot_be_written(
    logged_in: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(HostError, match="cannot write"):
        store.save(REGISTRATION, logged_in)


def test_registrations_do_not_share_sessions(logged_in: Session) -> None:
    assert logged_in
    for other in (Registration(ISSUER, "other"), Registration("https://other.example", CLIENT)):
        with pytest.raises(DeniedError, match="not logged in"):
            session.current(other)


def test_logout_revokes_and_forgets(provider: FakeProvider, logged_in: Session) -> None:
    assert session.log_out(REGISTRATION, transport=provider) == (True, "")
    assert provider.asked("/revoke") == [
        {
            "token": logged_in.refresh_token,
            "token_type_hint": "refresh_token",
            "client_id": CLIENT,
        }
    ]
    assert session.log_out(REGISTRATION, transport=provider) == (False, "")


@pytest.mark.parametrize(
    ("metadata", "answer", "words"),
    [
        ({"revocation_endpoint": None}, httpx2.Response(200), "offers no revocation"),
        ({}, httpx2.Response(400), "answers 400"),
        ({}, httpx2.Response(503), "failed with 503"),
    ],
)
@pytest.mark.usefixtures("logged_in")
def test_a_logout_that_cannot_revoke_forgets_all_the_same(
    provider: FakeProvider, metadata: dict[str, Any], answer: httpx2.Response, words: str
) -> None:
    provider.metadata, provider.answers["/revoke"] = metadata, answer
    was, why = session.log_out(REGISTRATION, transport=provider)
    assert was
    assert words in why
    with pytest.raises(DeniedError, match="not logged in"):
        session.current(REGISTRATION)


class FakeKeyring(dict[tuple[str, str], str]):
    """The module, and a backend that works or fails."""

    priority = 5
    fails = False

    def get_keyring(self) -> Any:
        return SimpleNamespace(priority=self.priority)

    def set_password(self, service: str, name: str, text: str) -> None:
        if self.fails:
            raise RuntimeError("locked\x1b[31m")
        self[service, name] = text

    def get_password(self, service: str, name: str) -> str | None:
        if self.fails:
            raise RuntimeError("locked\x1b[31m")
        return self.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        del self[service, name]


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> FakeKeyring:
    found = FakeKeyring()
    monkeypatch.setitem(sys.modules, "keyring", found)
    return found


def test_a_keyring_keeps_the_tokens(keyring: FakeKeyring, logged_in: Session, state: Path) -> None:
    assert session.current(REGISTRATION) == logged_in
    (path,) = state.glob("*.json")
    assert json.loads(path.read_text()) == {"kept_in": "keyring"}
    ((service, name),) = keyring
    assert (service, name) == ("devctl", REGISTRATION.key)
    keyring.fails = True
    with pytest.raises(DeniedError, match=r"\(RuntimeError\): run `devctl login`"):
        session.current(REGISTRATION)
    keyring.fails = False
    store.forget(REGISTRATION)
    assert not keyring
    assert not path.exists()


@pytest.mark.parametrize("about", [{"priority": 0}, {"fails": True}])
def test_keyrings_that_keep_nothing(
    keyring: FakeKeyring, provider: FakeProvider, logged_in: Session, about: dict[str, Any]
) -> None:
    for name, value in about.items():
        setattr(keyring, name, value)
    expire(logged_in)
    found = session.current(REGISTRATION, transport=provider)
    assert session.current(REGISTRATION) == found
    assert found.id_token not in str(dict(keyring))


def test_a_keyring_that_is_not_installed(
    logged_in: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert store.save(REGISTRATION, logged_in) != "keyring"
    assert session.current(REGISTRATION) == logged_in
