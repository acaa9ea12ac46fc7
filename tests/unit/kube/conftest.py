"""Streams are tested over real sockets and real TLS, on loopback; all others stay forbidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pytest_socket import enable_socket, socket_allow_hosts

from unit.kube.certificates import Certificates, make_certificates

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def socket_disabled() -> Iterator[None]:
    enable_socket()  # or the guard would only be put on top of a stricter one
    socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    yield
    enable_socket()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))
