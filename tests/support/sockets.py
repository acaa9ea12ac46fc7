"""What tests without a network may still open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pytest_socket import disable_socket, enable_socket

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def socket_disabled() -> Iterator[None]:
    """Unix sockets, by which an event loop wakes itself and processes talk; no others."""
    disable_others()
    yield
    enable_socket()


def disable_others() -> None:
    """Disable all but Unix sockets: a loop that outlives a test is made before its fixtures."""
    enable_socket()  # or the guard would only be put on top of a stricter one
    disable_socket(allow_unix_socket=True)
