"""What a node is and has left, and how it is looked at."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gpu_worker_agent.facts import Facts, Free, Held, facts_of, free_of
from devctl_gpu_worker_agent.gpus import Card
from devctl_gpu_worker_agent.looking import Looking

from devctl.agents.nvidia_smi import ToolError
from devctl.api.gpu_worker_job import JOB_APP
from devctl.api.pod_requests import requested
from unit.gpu_worker_agent.things import Thing, node, pod

if TYPE_CHECKING:
    from collections.abc import Iterator

RTX = Card("RTX 4090", 24576, 576)


def held(*pods: Thing) -> Held:
    found = Held()
    for each in pods:
        found.add(each)
    return found


def test_a_node_is_what_pods_may_use_of_it() -> None:
    assert facts_of(node(), [RTX, RTX]) == Facts(
        node_name="gpu-server-1",
        hostname="gpu-server-1.local",
        gpu_count=2,
        gpu_type="RTX 4090",
        gpu_memory=24576,
        cpu_cores=15,
        memory=32768,
    )


def test_a_node_whose_hostname_is_not_reported_has_its_name() -> None:
    found = node()
    found["status"]["addresses"][1]["address"] = ""
    assert facts_of(found, [RTX]).hostname == "gpu-server-1"
    del found["status"]["addresses"]
    assert facts_of(found, [RTX]).hostname == "gpu-server-1"


def test_of_different_gpus_the_smallest_memory_counts_and_all_kinds_are_named() -> None:
    found = facts_of(node(), [RTX, Card("A2", 15356)])
    assert (found.gpu_type, found.gpu_memory) == ("A2, RTX 4090", 15356)


def test_what_pods_request_is_not_free_whatever_they_use() -> None:
    pods = held(
        pod(cpu="1500m"), pod(cpu="300m"), pod("Succeeded", cpu="8"), pod("Failed", cpu="8")
    )
    assert free_of(node(), [RTX, RTX], pods) == Free(48000, 14, 0)


def test_less_than_nothing_is_nothing() -> None:
    assert free_of(node(), [Card("x", 10, 11)], held(pod(cpu="99"))) == Free(0, 0, 0)


def test_jobs_of_the_api_are_counted_and_no_other_pods_called_so() -> None:
    elsewhere = pod(app=JOB_APP)
    elsewhere["metadata"]["namespace"] = "team"
    found = held(
        pod(app=JOB_APP), pod("Pending", app=JOB_APP), elsewhere, pod("Failed", app=JOB_APP)
    )
    assert found.jobs == 2


def test_where_nobody_measures_gpus_of_pods_are_not_free() -> None:
    cards = [Card("x", 8192)] * 3
    assert free_of(node("3"), cards, held(pod(gpu="2"))).gpu_memory == 8192
    assert free_of(node("3"), cards, held(pod(gpu="4"))).gpu_memory == 0


def test_an_unhealthy_gpu_has_nothing_free() -> None:
    found = free_of(node(), [RTX, Card("x", 24576, 0, "lost")], Held())
    assert (found.gpu_memory, found.problem) == (24000, "lost")


def test_requests_are_added_up_as_the_scheduler_does() -> None:
    def container(cpu: str, **more: Any) -> Thing:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    limit = {"resources": {"limits": {"cpu": "2"}}}
    spec: Thing = {"containers": [container("1"), limit], "overhead": {"cpu": "500m"}}
    assert requested(spec) == {"cpu": Decimal("3.5")}
    spec["initContainers"] = [container("1", restartPolicy="Always"), container("7")]
    assert requested(spec) == {"cpu": Decimal("8.5")}
    spec["resources"] = {"requests": {"cpu": "4"}}
    assert requested(spec) == {"cpu": Decimal("4.5")}
    assert requested({}) == {}


class Cluster:
    """What the API server says."""

    def __init__(self) -> None:
        self.offered: list[Thing] = []

    def node(self, name: str) -> Thing:
        assert name == "gpu-server-1"
        return node()

    def pods(self, node: str) -> Iterator[Thing]:
        assert node == "gpu-server-1"
        yield from [pod(app=JOB_APP, cpu="1", gpu="1"), pod(cpu="2")]

    def slices(self, node: str) -> list[Thing]:
        assert node == "gpu-server-1"
        return self.offered


def test_without_nvidia_smi_slices_come_before_the_node() -> None:
    cluster = Cluster()
    looking = Looking("gpu-server-1", cluster, None, 16384)
    assert looking.look().facts.gpu_type == "made-up GPU"
    assert looking.look().free == Free(16384, 12, 1)
    device = {"attributes": {"model": {"string": "H100"}}, "capacity": {"memory": {"value": "1Gi"}}}
    cluster.offered = [{"spec": {"devices": [device]}}]
    assert looking.look().facts.gpu_type == "H100"


def test_a_tool_that_fails_three_times_in_a_row_makes_its_gpus_unhealthy() -> None:
    answers: list[bool] = [True, False, False, True, False, False, False, True]

    def tool() -> list[Card]:
        if not answers.pop(0):
            raise ToolError("nvidia-smi: TimeoutExpired")
        return [RTX]

    looking = Looking("gpu-server-1", Cluster(), tool)
    found = [looking.look().free.problem for _ in range(8)]
    assert found == ["", "", "", "", "", "", "nvidia-smi: TimeoutExpired", ""]


def test_a_tool_that_never_answered_leaves_the_node_unknown() -> None:
    def tool() -> list[Card]:
        raise ToolError("nvidia-smi: TimeoutExpired")

    with pytest.raises(ToolError):
        Looking("gpu-server-1", Cluster(), tool).look()
