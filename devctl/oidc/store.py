"""Where tokens are kept: the platform's keyring, else a private file."""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl.errors import BusyError, DeniedError, HostError
from devctl.text import one_line
from devctl.whole_file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from devctl.oidc.registration import Registration

_SERVICE = "devctl"
"""The name under which keyrings show our entries."""
_PATIENCE = 60.0
"""Seconds to wait for another devctl that refreshes."""
_RETRY = 0.05


@dataclass(frozen=True)
class Session:
    """The tokens of a person who is logged in.

    Attributes:
        issuer: The provider.
        client_id: The client that the tokens are for.
        subject: The person's identifier at the provider.
        name: What the provider calls the person, for messages.
        id_token: What the API server is shown.
        refresh_token: Empty if the provider gave none.
        received_at: When the ID token was received, in seconds since the epoch, by our clock.
        expires_at: When it expires, likewise.
    """

    issuer: str
    client_id: str
    subject: str
    name: str
    id_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    received_at: float
    expires_at: float


def folder() -> Path:
    """The folder of the files."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "devctl" / "sessions"


def load(registration: Registration) -> Session | None:
    """The stored session, if any.

    Raises:
        DeniedError: It cannot be read, and one has to log in again.
    """
    path = _path(registration)
    try:
        text = path.read_bytes()
        found = json.loads(text)
        if found.get("kept_in") == "keyring":
            found = json.loads(_keyring().get_password(_SERVICE, registration.key) or "{}")
        session = Session(**{**found, "received_at": float(found["received_at"])})
        valid = (session.issuer, session.client_id) == (registration.issuer, registration.client_id)
        texts = (session.id_token, session.refresh_token, session.subject, session.name)
        valid = valid and all(isinstance(each, str) for each in texts)
        valid = valid and isinstance(session.expires_at, int | float)
    except FileNotFoundError:
        return None
    except Exception as error:  # keyrings raise what their backends do
        raise _unreadable(path, error) from error
    if not valid:
        raise _unreadable(path, "it does not hold a session")
    return session


def save(registration: Registration, session: Session) -> str:
    """Store a session; what it is kept in: `keyring`, or the path of a file.

    Raises:
        HostError: It cannot be stored.
    """
    text = json.dumps(asdict(session))
    path = _path(registration)
    kept = _in_keyring(registration.key, text)
    try:
        write_file(path, json.dumps({"kept_in": "keyring"}) if kept else text, 0o600)
    except OSError as error:
        raise _cannot_write(path, error) from error
    return "keyring" if kept else str(path)


def forget(registration: Registration) -> None:
    """Delete the stored session, if any.

    Raises:
        HostError: It cannot be deleted.
    """
    path = _path(registration)
    with suppress(Exception):  # a keyring without the entry raises; so does one that is locked
        if b'"kept_in"' in path.read_bytes():
            _keyring().delete_password(_SERVICE, registration.key)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _cannot_write(path, error) from error


@contextmanager
def locked(registration: Registration) -> Iterator[None]:
    """Keep other processes from refreshing: providers accept a rotating refresh token only once.

    Raises:
        BusyError: Another one does not finish.
        HostError: The lock cannot be created.
    """
    path = _path(registration).with_suffix(".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise BusyError(
                        "another devctl is refreshing your login and does not finish",
                        "end that one, or try again in a moment",
                    ) from None
                time.sleep(_RETRY)
        yield
    finally:
        os.close(descriptor)


def _path(registration: Registration) -> Path:
    return folder() / f"{registration.key}.json"


def _keyring() -> ModuleType:
    import keyring  # noqa: PLC0415 - optional, and slow

    return keyring


def _in_keyring(key: str, text: str) -> bool:
    """Whether the keyring took the tokens."""
    try:
        keyring = _keyring()
        backend: Any = keyring.get_keyring()
        # Backends that keep nothing have no positive priority.
        if backend.priority <= 0:
            return False
        keyring.set_password(_SERVICE, key, text)
        return bool(keyring.get_password(_SERVICE, key) == text)
    except Exception:  # noqa: BLE001 - without a working keyring, a file does
        return False


def _unreadable(path: Path, why: object) -> DeniedError:
    words = one_line(why if isinstance(why, str) else type(why).__name__)
    return DeniedError(f"your stored login `{path}` cannot be read ({words}): run `devctl login`")


def _cannot_write(path: Path, error: OSError) -> HostError:
    return HostError(
        f"cannot write `{path}`: {error.strerror or error}",
        "make it writable, or set XDG_STATE_HOME",
    )
