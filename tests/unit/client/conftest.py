"""What tests of the SDK share: an API server in memory, and a client of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from unit.client.fake_cluster import FakeApi
from unit.client.job_things import volume_of_a_job
from unit.client.run_things import ranks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from devctl.client.client import Client
    from devctl.client.runs.runs import Runs
    from unit.client.run_things import Ranks


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder of this machine."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job's volume; modules about servers have a place of theirs by this name."""
    folder = tmp_path / "volume"
    folder.mkdir()
    volume_of_a_job(folder, monkeypatch)
    return folder


@pytest.fixture
def api() -> FakeApi:
    """The API server, empty."""
    return FakeApi()


@pytest.fixture
def client(api: FakeApi) -> Client:
    """The SDK, as alice."""
    from devctl.client.client import Client  # noqa: PLC0415 - tests of other parts need none

    return Client(api.cluster())


@pytest.fixture
def lab(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ranks]:
    """A server of two replicas that are folders of this machine."""
    made = ranks(api, tmp_path, monkeypatch)
    yield made
    made.end()


@pytest.fixture
def runs(client: Client) -> Runs:
    """The SDK's runs."""
    return client.runs
