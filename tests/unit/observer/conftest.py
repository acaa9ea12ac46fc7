"""An event loop wakes itself through a pair of Unix sockets; all others stay forbidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pytest_socket import disable_socket, enable_socket

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def socket_disabled() -> Iterator[None]:
    enable_socket()  # or the guard would only be put on top of a stricter one
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()
