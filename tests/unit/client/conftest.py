"""What tests of the SDK share: an API server in memory, and a client of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from unit.client.fake_cluster import FakeApi

if TYPE_CHECKING:
    from devctl.client.client import Client


@pytest.fixture
def api() -> FakeApi:
    """The API server, empty."""
    return FakeApi()


@pytest.fixture
def client(api: FakeApi) -> Client:
    """The SDK, as alice."""
    from devctl.client.client import Client  # noqa: PLC0415 - tests of other parts need none

    return Client(api.cluster())
