"""The loop: what is done while the API server, or the kubelet, is away."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from devctl_dra_plugin import slices
from devctl_dra_plugin.claims import Claims
from devctl_dra_plugin.health import Board
from devctl_dra_plugin.inventory import Inventory
from devctl_dra_plugin.names import UNHEALTHY
from devctl_dra_plugin.plugin import INTERVAL, Plugin

from unit.dra_plugin.cluster import NODE, Memory, ref

if TYPE_CHECKING:
    from pathlib import Path

PATH = f"{slices.PATH}/{NODE}-canhazgpu.com"


class Setting:
    """A plugin with a clock."""

    def __init__(self, root: Path) -> None:
        self.api, self.board, self.now = Memory(), Board(), 1000.0
        self.folder = root / "cdi"
        self.folder.mkdir()
        self.node = {"metadata": {"name": NODE, "uid": "u", "annotations": dict[str, str]()}}
        self.api.objects[f"/api/v1/nodes/{NODE}"] = self.node
        self.claims = Claims(NODE, self.api, root / "checkpoint.json", self.folder)
        self.plugin = Plugin(
            NODE,
            api=self.api,
            inventory=Inventory(NODE, 2, lambda: self.now, None),
            claims=self.claims,
            board=self.board,
            clock=lambda: self.now,
            random=lambda: 1.0,
        )

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.plugin.step()
            self.now += INTERVAL


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


def test_gpus_are_offered_once_the_kubelet_has_taken_the_plugin(setting: Setting) -> None:
    setting.look()
    assert not setting.api.written
    setting.plugin.registered()
    setting.plugin.wait()
    setting.look(3)
    assert [path for path, _ in setting.api.written] == [PATH]
    assert setting.plugin.is_ready


def test_what_the_nodes_annotation_says_is_reported_and_offered(setting: Setting) -> None:
    setting.plugin.registered()
    setting.look()
    setting.node["metadata"]["annotations"] = {UNHEALTHY: "1"}
    setting.look()
    offered = setting.api.objects[PATH]["spec"]["devices"]
    assert ["taints" in each for each in offered] == [False, True]
    found = next(setting.board.watch(lambda: True))
    assert [each.health.name for each in found] == ["HEALTHY", "UNHEALTHY"]


def test_while_the_api_server_is_away_it_is_asked_ever_more_rarely(
    setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    setting.plugin.registered()
    setting.api.is_away = True
    setting.look(30)
    # After 10, 20, 40 and then every 60 seconds.
    assert len(caplog.records) == 7
    assert caplog.records[0].message == "the API server: away; again in about 10 s"
    assert next(setting.board.watch(lambda: True)), "health is reported"
    setting.api.is_away = False
    setting.look(6)
    assert setting.plugin.is_ready
    setting.api.is_away = True
    caplog.clear()
    setting.look()
    assert "about 10 s" in caplog.text, "from the start"


def test_lost_files_are_made_again_without_an_api_server(setting: Setting) -> None:
    setting.look()
    setting.api.allocate(ref(1), 0)
    setting.claims.prepare([ref(1)])
    (file,) = setting.folder.iterdir()
    file.unlink()
    setting.api.is_away = True
    setting.look()
    assert file.exists()


def test_a_full_disk_ends_nothing(setting: Setting, caplog: pytest.LogCaptureFixture) -> None:
    setting.plugin.registered()

    def full() -> None:
        raise OSError(28, "No space left on device")

    setting.claims.repair = full  # type: ignore[method-assign]
    setting.look()
    assert "CDI files: [Errno 28] No space left on device" in caplog.text
