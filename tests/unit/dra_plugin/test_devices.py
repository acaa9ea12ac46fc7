from __future__ import annotations

import logging
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from devctl_dra_plugin import devices, inventory, nvidia
from devctl_dra_plugin.devices import Device
from devctl_dra_plugin.inventory import Inventory
from devctl_dra_plugin.names import MADE_UP, UNHEALTHY

from devctl.agents.nvidia_smi import ToolError

if TYPE_CHECKING:
    from pathlib import Path

ROW = "{}, GPU-{}, NVIDIA H100 80GB HBM3, 81559, 00000000:{}:00.0, {}, {}"
TABLE = "\n".join(
    [
        ROW.format(0, "a", "19", "Disabled", "No"),
        ROW.format(1, "b", "3B", "Disabled", "Yes"),
        ROW.format(2, "c", "4C", "Enabled", "No"),
        ROW.format(3, "d", "5D", "[N/A]", "[Unknown Error]"),
        "",
    ]
)
ADDRESS = "0000:3b:00.0"


def test_made_up_gpus_say_so_and_are_the_same_again() -> None:
    found = devices.made_up("node-1", 4)
    assert [each.name for each in found] == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]
    assert all(each.made_up and each.uuid.startswith("fake-") for each in found)
    assert [each.numa_node for each in found] == [0, 0, 1, 1]
    assert found == devices.made_up("node-1", 4)
    others = {each.uuid for each in devices.made_up("node-2", 4)}
    assert not others & {each.uuid for each in found}


@pytest.mark.parametrize("text", ["65", "-1", "two", "٤", "1e1", "99999999"])
def test_a_number_of_gpus_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(devices.SettingError, match="a number from 0 to 64"):
        devices.made_up_count({MADE_UP: text}, 0)


def test_the_nodes_annotation_comes_before_the_setting() -> None:
    assert devices.made_up_count({}, 4) == 4
    assert devices.made_up_count({MADE_UP: "0"}, 4) == 0
    assert devices.withdrawn({}) == frozenset()
    assert devices.withdrawn({UNHEALTHY: "1, 3"}) == {1, 3}


def test_nvidia_smi_s_table_is_read() -> None:
    healthy, defective, broken = nvidia.parse(TABLE, {ADDRESS: 1}, {ADDRESS: 5})
    assert healthy == Device(0, "GPU-a", "NVIDIA H100 80GB HBM3", 81559, None, 0)
    assert (defective.numa_node, defective.minor, defective.made_up) == (1, 5, False)
    assert "remapped_rows.failure" in defective.problem
    assert broken.index == 3, "one that is divided is left out"
    assert broken.problem == "nvidia-smi says `[Unknown Error]`"


def test_other_lines_are_none() -> None:
    assert nvidia.parse("No devices were found\n", {}, {}) == []


def test_the_kernel_says_where_gpus_are(tmp_path: Path) -> None:
    for address, node in ((ADDRESS, "1"), ("0000:19:00.0", "-1")):
        folder = tmp_path / "bus/pci/drivers/nvidia" / address
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(f"{node}\n")
    assert nvidia.numa_nodes(tmp_path) == {ADDRESS: 1}
    folder = tmp_path / "driver/nvidia/gpus" / ADDRESS
    folder.mkdir(parents=True)
    (folder / "information").write_text("Model: \t\t NVIDIA H100\nDevice Minor: \t 5\n")
    assert nvidia.minor_numbers(tmp_path) == {ADDRESS: 5}


def test_a_gpu_that_has_disappeared_is_unhealthy() -> None:
    before = nvidia.parse(TABLE, {}, {})
    found = devices.with_lost(before, before[1:])
    assert [each.index for each in found] == [0, 1, 3]
    assert found[0].problem == "nvidia-smi no longer lists it"
    assert devices.with_lost(found, before) == before, "it is back"


def fails(*_: Any, **__: Any) -> Any:
    raise subprocess.CalledProcessError(9, "nvidia-smi", b"Failed to initialize NVML\n")


def hangs(*_: Any, **__: Any) -> Any:
    raise subprocess.TimeoutExpired("nvidia-smi", 20)


@pytest.mark.parametrize(
    ("run", "said"), [(fails, "failed: Failed to initialize NVML"), (hangs, "TimeoutExpired")]
)
def test_a_tool_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, run: Any, said: str) -> None:
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ToolError, match=said):
        nvidia.ask("nvidia-smi")


def test_the_tool_on_the_path_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert inventory.real_gpus() is None
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\necho '{ROW.format(0, 'a', '19', 'Disabled', 'No')}'\n")
    tool.chmod(0o755)
    real = inventory.real_gpus(tmp_path, tmp_path)
    assert real
    assert [each.uuid for each in real()] == ["GPU-a"]


class Tool:
    """nvidia-smi, and the time."""

    def __init__(self) -> None:
        self.now, self.asked, self.fails = 100.0, 0, False

    def __call__(self) -> list[Device]:
        self.asked += 1
        if self.fails:
            raise ToolError("nvidia-smi: TimeoutExpired")
        return nvidia.parse(TABLE, {}, {})[:1]

    def inventory(self) -> Inventory:
        return Inventory("node-1", 4, lambda: self.now, self)


def test_real_gpus_come_before_made_up_ones_and_are_asked_for_now_and_then() -> None:
    tool = Tool()
    node = tool.inventory()
    assert [each.uuid for each in node.look({MADE_UP: "2"})] == ["GPU-a"]
    tool.now += 10
    node.look({})
    assert tool.asked == 1
    tool.now += 20
    node.look({})
    assert tool.asked == 2


def test_a_tool_that_fails_once_makes_nothing_unhealthy() -> None:
    tool = Tool()
    node = tool.inventory()
    (healthy,) = node.look({})
    tool.fails = True
    for expected in ("", "", "nvidia-smi: TimeoutExpired"):
        tool.now += 30
        assert node.look({}) == [replace(healthy, problem=expected)]
    tool.fails, tool.now = False, tool.now + 30
    assert node.look({}) == [healthy]


def test_an_administrator_withdraws_gpus(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    node = Inventory("node-1", 2, lambda: 0.0, None)
    first, second = node.look({UNHEALTHY: "1"})
    assert (first.problem, UNHEALTHY in second.problem) == ("", True)
    for _ in range(2):
        assert not any(each.problem for each in node.look({UNHEALTHY: "all"}))
    assert [record.message for record in caplog.records] == [
        f"{UNHEALTHY} must be a number from 0 to 64, not `all`; ignored"
    ]
