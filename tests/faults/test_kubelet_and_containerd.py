"""Every node's containerd is killed, and then every kubelet: containers and jobs go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from support.fault_day import let_go
from support.jobs import SUCCEEDS, moment, told
from support.processes import kill, pids_of
from support.servers import wait_until

if TYPE_CHECKING:
    from datetime import datetime

    from support.fault_day import Day, Standing
    from support.jobs import Job

GPUS = 4


@dataclass(frozen=True)
class Fault:
    """What came of it.

    Attributes:
        killed: The processes that were killed.
        before: How it stood.
        after: How it stood when all was well again.
        etcd: A container of Kubernetes' own, before.
        calm: A job that had ended before.
        others: One whose pod was being made, and one that ran.
        finished: One that had finished, and whose pod was to go soon after.
        gone: When that pod had gone.
    """

    killed: set[int]
    before: Standing
    after: Standing
    etcd: set[int]
    calm: Job
    others: tuple[Job, Job]
    finished: Job
    gone: datetime


@pytest.fixture(scope="module")
def fault(day: Day) -> Fault:
    calm, running = day.job("calm"), day.job("running")
    for job in (calm, running):
        job.wait("Running")
    let_go(calm)
    calm.wait("Succeeded")
    before, etcd = day.stand(), pids_of("etcd", day.group())
    finished = day.job("finished", command=SUCCEEDS, ttlSecondsAfterFinished=5)
    finished.wait("Succeeded")

    killed = kill_on_each_node(day, "containerd")
    made = day.job("made")
    killed |= kill_on_each_node(day, "kubelet")
    let_go(running)
    gone = finished.wait_gone("pod", finished.pod)
    made.wait("Running")
    let_go(made)
    for job in (running, made):
        job.wait("Succeeded")
    for job in (calm, running, made):
        job.wait_gone("pod", job.pod)
    day.await_well()
    return Fault(killed, before, day.stand(), etcd, calm, (made, running), finished, gone)


def kill_on_each_node(day: Day, program: str) -> set[int]:
    """Kill a program everywhere and wait until it is everywhere again."""
    groups = [day.group(node) for node in range(len(day.cluster.nodes))]
    killed = set[int]().union(*(kill(group, program) for group in groups))
    wait_until(lambda: all(pids_of(program, group) - killed for group in groups), program)
    return killed


@pytest.mark.parametrize("program", ["containerd", "kubelet"])
@pytest.mark.parametrize("node", [0, 1])
def test_it_comes_back_by_itself(fault: Fault, day: Day, program: str, node: int) -> None:
    now = pids_of(program, day.group(node))
    assert now
    assert not now & fault.killed


def test_the_containers_have_gone_on(fault: Fault, day: Day) -> None:
    assert fault.after.running == fault.before.running
    assert pids_of("etcd", day.group()) == fault.etcd


def test_what_was_written_is_there(fault: Fault) -> None:
    assert fault.after.kept == fault.before.kept


@pytest.mark.parametrize("phase", ["made", "running"])
def test_a_job_ends_as_one_that_nothing_disturbed(fault: Fault, phase: str) -> None:
    job = next(job for job in fault.others if job.name == phase)
    wait_until(lambda: told(job) == told(fault.calm), lambda: f"{told(job)} {told(fault.calm)}")


def test_a_pod_whose_time_is_over_meanwhile_goes_and_not_before(fault: Fault) -> None:
    assert moment(fault.finished.status["podExpiresAt"]) <= fault.gone


def test_every_volume_stays(fault: Fault) -> None:
    for job in (fault.calm, *fault.others, fault.finished):
        assert job.get("pvc", job.claim)


@pytest.mark.usefixtures("fault")
def test_a_new_kubelet_is_told_of_the_gpus(day: Day) -> None:
    """They are not offered again until their plugin has found the kubelet."""

    def offered() -> list[str]:
        nodes = day.kubectl.api.list("nodes")
        return [node["status"]["allocatable"].get("nvidia.com/gpu", "") for node in nodes]

    wait_until(lambda: offered() == [str(GPUS)] * len(day.cluster.nodes), lambda: str(offered()))
    resources = {"gpu": 1, "cpu": "20m", "memory": "32Mi"}
    day.job("with-gpu", command=SUCCEEDS, resources=resources).wait("Succeeded")
