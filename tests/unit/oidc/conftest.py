"""A provider in memory, and the loopback port that browsers come back to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pytest_socket import enable_socket, socket_allow_hosts

from unit.oidc.fake_provider import FakeProvider

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def socket_disabled() -> Iterator[None]:
    enable_socket()  # or the guard would only be put on top of a stricter one
    socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    yield
    enable_socket()


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the stored sessions; there is no keyring."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-home"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    return tmp_path / "state-home" / "devctl" / "sessions"


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider()
