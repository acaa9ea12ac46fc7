"""GPUWorkloads of several pods, which are placed, run and end together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.servers import wait_until
from support.workloads import PLURAL, Workload

from devctl.api.gpu_workload import RANK, job_name, service_name
from devctl.api.ranks import OWN_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed")
SERVICE = service_name("one")


@pytest.fixture
def one(kubectl: Kubectl, namespace: str) -> Iterator[Workload]:
    made = Workload(kubectl.api, namespace)
    yield made
    made.delete()


def test_two_pods_run_on_two_nodes_and_succeed_together(one: Workload) -> None:
    # No node has room for both.
    one.apply(nodes=2, gpuCount=3)
    running = one.wait("Running")
    assert "in 2 pods" in running["message"]
    pods = one.ranks()
    nodes = [pods[rank]["spec"]["nodeName"] for rank in (0, 1)]
    assert len(set(nodes)) == 2
    assert (running["assignedNode"], running["assignedNodes"]) == (nodes[0], nodes)
    one.end(rank=0)
    one.end(rank=1)
    ended = one.wait("Succeeded", "Completed")
    assert (ended["attempt"], ended["exitCode"], ended["assignedNodes"]) == (1, 0, nodes)


def test_what_they_find_each_other_by(one: Workload) -> None:
    one.apply(nodes=2, gpuCount=2)
    one.wait("Running")
    pod = one.ranks()[1]
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("one-1-1", SERVICE)
    env = {entry["name"]: entry for entry in pod["spec"]["containers"][0]["env"]}
    paths = [env[name]["valueFrom"]["fieldRef"]["fieldPath"] for name in OWN_VARIABLES]
    assert paths == [f"metadata.labels['{RANK}']"] * 2
    names = ("MASTER_ADDR", "MASTER_PORT", "NNODES", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    values = [env[name]["value"] for name in names]
    assert values == [f"one-1-0.{SERVICE}", "29500", "2", "4", "2"]
    service = one.api.get("service", SERVICE, one.namespace)
    assert service
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    one.api.delete(PLURAL, one.name, one.namespace)
    wait_until(lambda: not one.api.get("service", SERVICE, one.namespace), "the Service goes, too")


def test_a_rank_that_fails_ends_the_attempt_and_all_are_retried(one: Workload) -> None:
    one.apply(nodes=2, retryPolicy={"maxRetries": 1, "backoffSeconds": 1})
    one.wait("Running")
    one.end("fail", rank=1)
    again = one.follow(lambda s: s.get("attempt") == 2 and s["phase"] == "Running", "again")
    assert again["retryCount"] == 1
    assert [job["metadata"]["name"] for job in one.jobs()] == [job_name("one", n) for n in (1, 2)]
    assert sorted(one.ranks()) == [0, 1]
    one.end("fail", rank=0)
    failed = one.wait("Failed", "NonZeroExit")
    assert (failed["attempt"], failed["retryCount"], failed["exitCode"]) == (2, 1, 7)
    assert failed["message"].startswith("rank 0: exit code 7")


def test_all_of_them_are_stopped(one: Workload) -> None:
    one.apply(nodes=2)
    one.wait("Running")
    one.apply(nodes=2, stopped=True)
    one.wait("Pending", "Stopped")
    wait_until(lambda: not one.jobs() and not one.pods(), "its Job is removed with both pods")


def test_all_get_a_node_or_none(one: Workload) -> None:
    one.apply(nodes=3, gpuCount=4, retryPolicy={"maxRetries": 0})
    failed = one.wait("Failed", "NoSuitableNode")
    assert "of 3 pods would have a node, but no node has 4 free GPUs" in failed["message"]
    assert not one.jobs()
