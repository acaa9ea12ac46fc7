"""GPUs, as nvidia-smi, ResourceSlices and Nodes show them."""

from __future__ import annotations

import doctest
import subprocess
from typing import TYPE_CHECKING

import pytest
from devctl_gpu_worker_agent import gpus as module
from devctl_gpu_worker_agent import nvidia, schedule, text
from devctl_gpu_worker_agent.gpus import Card, of_node, of_slices, of_table
from hypothesis import given
from hypothesis import strategies as st

from devctl.agents.nvidia_smi import ToolError
from unit.gpu_worker_agent.things import node

if TYPE_CHECKING:
    from pathlib import Path

# nvidia-smi 580.65.06 --query-gpu=index,uuid,memory.total,memory.used,name
# --format=csv,noheader,nounits; UUIDs shortened.
TWO = (
    "0, GPU-1f0c5b6e, 24564, 18, NVIDIA GeForce RTX 4090\n"
    "1, GPU-9d2e77aa, 24564, 20480, NVIDIA GeForce RTX 4090\n"
)
BROKEN = "0, GPU-1f0c5b6e, [Unknown Error], [GPU is lost], NVIDIA H100 80GB HBM3\n"
UNIFIED = "0, GPU-5b1d9c42, [N/A], [N/A], NVIDIA GB10\n"


def test_examples() -> None:
    for each in (module, schedule, text):
        assert doctest.testmod(each).failed == 0


def test_a_table_of_nvidia_smi_is_read() -> None:
    assert of_table(TWO) == [
        Card("NVIDIA GeForce RTX 4090", 24564, 18),
        Card("NVIDIA GeForce RTX 4090", 24564, 20480),
    ]


@pytest.mark.parametrize(
    "table", ["", "No devices were found\n", "NVIDIA-SMI has failed, because, of, some, thing"]
)
def test_what_is_no_table_has_no_gpus(table: str) -> None:
    assert of_table(table) == []


def test_a_gpu_in_trouble_says_so() -> None:
    (found,) = of_table(BROKEN)
    assert found.problem == "nvidia-smi says `[Unknown Error]`"
    assert (found.memory, found.used) == (0, None)


def test_memory_that_is_not_reported_is_unknown_and_no_trouble() -> None:
    assert of_table(UNIFIED) == [Card("NVIDIA GB10")]


@given(st.text())
def test_no_text_breaks_the_reader_and_no_control_gets_through(table: str) -> None:
    assert all(card.model.isprintable() for card in of_table(table))
    assert all(card.model.isprintable() for card in of_table(f"0, u, 1, 1, {table}"))


def test_a_resource_slice_is_read() -> None:
    attributes = {"model": {"string": "NVIDIA H100"}, "healthy": {"bool": True}}
    device = {"name": "gpu-0", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}
    sick = {**device, "name": "gpu-1", "attributes": attributes | {"healthy": {"bool": False}}}
    found = of_slices([{"spec": {"devices": [device]}}, {"spec": {"devices": [sick]}}, {}])
    assert found[0] == Card("NVIDIA H100", 81920)
    assert found[1].problem == "`gpu-1` is unhealthy by its ResourceSlice"


def test_gpus_that_a_slice_makes_up_are_called_so() -> None:
    attributes = {"model": {"string": "GPU"}, "madeUp": {"bool": True}}
    assert of_slices([{"spec": {"devices": [{"attributes": attributes}]}}]) == [Card("made-up GPU")]


def test_a_node_is_read_by_its_capacity_and_the_labels_of_feature_discovery() -> None:
    labels = {"nvidia.com/gpu.memory": "46068", "nvidia.com/gpu.product": "NVIDIA-L40S"}
    assert of_node(node("2", labels)) == [Card("NVIDIA-L40S", 46068)] * 2
    assert of_node(node("1", {"nvidia.com/gpu.memory": "much"})) == [Card("GPU", 0)]
    assert of_node(node("0")) == of_node({}) == []


def test_gpus_that_a_local_cluster_pretends_to_have_are_called_so() -> None:
    assert of_node(node("1"), 16384) == [Card("made-up GPU", 16384)]


def script(folder: Path, text: str) -> str:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


def test_the_tool_is_asked_for_the_columns_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert nvidia.tool() is None
    script(tmp_path, 'echo "0, u, 1, 1, $1 $2"')
    found = nvidia.tool()
    assert found
    wanted = "--query-gpu=index,uuid,memory.total,memory.used,name --format=csv,noheader,nounits"
    assert found()[0].model == wanted[:63] + "…"


def test_a_tool_that_fails_or_is_slow_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = script(tmp_path, "echo 'Failed to initialize NVML'; exit 9")
    with pytest.raises(ToolError, match="failed: Failed to initialize NVML"):
        nvidia.ask(program)
    with pytest.raises(ToolError, match="FileNotFoundError"):
        nvidia.ask(str(tmp_path / "none"))

    def slow(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("nvidia-smi", 20)

    monkeypatch.setattr(subprocess, "run", slow)
    with pytest.raises(ToolError, match="TimeoutExpired"):
        nvidia.ask(program)
