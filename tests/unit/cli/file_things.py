"""A server of two replicas whose homes are folders here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from unit.client.objects import pod, server
from unit.client.pods import pods

if TYPE_CHECKING:
    from pathlib import Path

    from unit.client.fake_cluster import FakeApi


class Homes:
    """The homes of a server's replicas."""

    def __init__(self, above: Path) -> None:
        self._above = above

    def home(self, replica: int) -> Path:
        return self._above / f"lab-{replica}" / "home" / "dev"


@pytest.fixture
def lab(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    """The server `lab`, which runs."""
    api.add("devservers", server("lab", replicas=2))
    for replica in range(2):
        found = pod(f"lab-{replica}")
        found["status"]["containerStatuses"] = [{"name": "server", "state": {"running": {}}}]
        api.add("pods", found)
    above = tmp_path / "pods"
    above.mkdir()
    pods(monkeypatch, above)
    homes = Homes(above)
    for replica in range(2):
        homes.home(replica).mkdir(parents=True)
    return homes
