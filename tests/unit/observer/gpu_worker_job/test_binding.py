"""Which requirement of a job no registered node meets."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_observer.kinds.gpu_worker_job.binding import binding
from devctl_observer.kinds.gpu_worker_job.model import GPUWorkerJobSpec
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.placing import NodeFacts

MIB = 1 << 20


def node(state: str = "active", **has: Any) -> NodeFacts:
    amounts = {"gpu_memory": 24576, "gpus": 4, "cores": 16, "memory": 65536, "slots": 2} | has
    labels = {
        "imagepod.dev/worker": state,
        "imagepod.dev/gpu-memory-megabytes": str(amounts["gpu_memory"]),
    }
    room = {
        "nvidia.com/gpu": str(amounts["gpus"]),
        "cpu": str(amounts["cores"]),
        "memory": str(amounts["memory"] * MIB),
        "imagepod.dev/job-slots": str(amounts["slots"]),
    }
    return NodeFacts("n", True, False, tuple(labels.items()), (), tuple(room.items()))  # noqa: FBT003


def spec(**needs: int) -> GPUWorkerJobSpec:
    return GPUWorkerJobSpec(**({"cpu_cores": 1, "memory_megabytes": 16} | needs))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("needs", "nodes", "says"),
    [
        ({}, [], "no node is active"),
        ({}, [node("maintenance")], "no node is active"),
        ({"gpu_memory_megabytes": 24577}, [node()], "needs 24577 megabytes of GPU memory"),
        ({"gpus": 5}, [node()], "needs 5 GPUs, and no node that fits otherwise has more than 4"),
        ({"cpu_cores": 17}, [node()], "needs 17 cores"),
        ({"memory_megabytes": 65537}, [node()], "needs 65537 megabytes of memory"),
        ({}, [node(slots=0)], "needs 1 job slots"),
        # Each node has something that the other one lacks.
        (
            {"gpus": 8, "gpu_memory_megabytes": 20000},
            [node(gpus=8, gpu_memory=8192), node(gpus=1)],
            "needs 8 GPUs, and no node that fits otherwise has more than 1",
        ),
    ],
)
def test_it_is_named(needs: dict[str, int], nodes: list[NodeFacts], says: str) -> None:
    assert says in binding(spec(**needs), nodes)


def test_nothing_binds_if_a_node_meets_all() -> None:
    needs = {"gpus": 4, "gpu_memory_megabytes": 24576, "cpu_cores": 16}
    assert not binding(spec(**needs), [node("inactive"), node()])


AMOUNTS = st.integers(0, 50)
NODES = st.lists(st.builds(node, gpus=AMOUNTS, cores=AMOUNTS, gpu_memory=AMOUNTS), max_size=4)


@given(NODES, st.builds(node), AMOUNTS, AMOUNTS)
def test_one_more_node_never_makes_a_job_fit_less(
    nodes: list[NodeFacts], more: NodeFacts, gpus: int, cores: int
) -> None:
    needs = spec(gpus=gpus, cpu_cores=cores)
    if not binding(needs, nodes):
        assert not binding(needs, [*nodes, more])
