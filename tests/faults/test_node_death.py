"""A node dies with a rank, four jobs, the operator and the observer on it, and comes back."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from support.deployment import SYSTEM
from support.fault_day import RANKS
from support.processes import kill_leader, leader, stopped
from support.servers import DevServer, wait_until
from support.worker_costs import price_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.fault_day import Day, Standing
    from support.jobs import Job
    from support.worker_fleet import Fleet

Thing = dict[str, Any]
PARTS = ("operator", "observer")
OURS = "app.kubernetes.io/name=devctl"
NO_IMAGE = "localhost/no/such:1"
DORA = "dora"
RETURNS = "[ -e /artifacts/began ] || { touch /artifacts/began; sleep 3600; }"
"""What a job of the GPU workers API runs: for long at first, and not the second time."""
LOST = 180
"""Seconds: Kubernetes misses the node, a minute in which it may come back, 10 to end, and some."""


@dataclass(frozen=True)
class Fault:
    """What came of it.

    Attributes:
        node: The node that died.
        before: How it stood.
        moved: How it stood when operator and observer had ended and others were on the node.
        after: How it stood when the node was back.
        leaders: Who operator and observer were, and who they were when it was dead.
        replica: What the server's status said of the rank on it.
        later: The status of a server that was made meanwhile.
        missed: What the statuses of running jobs said first, by name.
        ended: What they said in the end, by name.
        in_use: Whether the ended one's volume was kept for its pod.
        jobs: All of them, by name, when the node was back.
        worker: The object of a job of the GPU workers API that may start once more.
        cost: What that job costs, in micro-units.
    """

    node: str
    before: Standing
    moved: Standing
    after: Standing
    leaders: tuple[dict[str, str], dict[str, str]]
    replica: Thing
    later: Thing
    missed: dict[str, Thing]
    ended: dict[str, Thing]
    in_use: bool
    jobs: dict[str, Job]
    worker: Thing
    cost: int


@pytest.fixture(scope="module")
def fault(day: Day, fleet: Fleet, impatient: None) -> Fault:  # noqa: ARG001 - one waits less for it
    fleet.login(DORA)
    node, before = day.cluster.nodes[-1].name, day.stand()
    here = next(rank for rank in RANKS if day.node_of(rank) == node)
    with all_new_pods_there(day):
        jobs = {
            "running": day.job("running-there", pvcTTLSecondsAfterFinished=0),
            "starting": day.job("starting-there", image=NO_IMAGE),
            "left": day.job("left-there"),
        }
        gpu = {"gpu_memory_required": 4096, "retries": 1}
        worker = fleet.submit(DORA, "returns", RETURNS, **gpu)
        running, starting, left = jobs.values()
        for job in (running, left):
            job.wait("Running")
        starting.wait("Pending", "ImagePullFailed")
        fleet.wait(DORA, worker, "running")
    day.await_answer()
    moved, leaders = day.stand(), leaders_now(day)

    with stopped(day.cluster, node, "kubelet", "containerd"):
        for part in PARTS:
            kill_leader(day.kubectl, day.cluster, part)
        later = DevServer(day.kubectl, day.server.namespace, day.server.spec, "later")
        later.apply(stopped=True)
        day.kubectl.api.delete("eaj", left.name, left.namespace)
        missed = {
            "running": running.wait("Running", "NodeNotReady", LOST),
            "starting": starting.wait("Pending", "NodeNotReady"),
        }
        later.wait("Applied")
        later.follow(lambda found: found["status"].get("phase") == "Stopped", "it is stopped")

        def replica_now() -> Thing:
            found: Thing = day.server.status["replicaStatuses"][here]
            return found

        wait_until(lambda: replica_now()["reason"] == "NodeLost", lambda: str(replica_now()))
        replica = replica_now()
        ended = {
            "running": running.wait("Failed", "NodeLost", LOST),
            "starting": starting.wait("Failed", "NodeLost"),
        }
        wait_until(
            lambda: running.condition("ArtifactsExpired").get("reason") == "InUse",
            lambda: str(running.status),
        )
        in_use, new = bool(running.get("pvc", running.claim)), leaders_now(day)
        again = [node, day.cluster.nodes[0].name]
        wait_until(lambda: places(fleet, worker) == again, lambda: str(fleet.pods_of(worker)))
    for job in jobs.values():
        job.wait_gone("pod", job.pod)
    fleet.wait(DORA, worker, "completed")
    day.await_answer()
    day.await_well()
    billed = fleet.object(worker), fleet.cost(DORA, worker)
    stands, who = (before, moved, day.stand()), (leaders, new)
    return Fault(node, *stands, who, replica, later.status, missed, ended, in_use, jobs, *billed)


def leaders_now(day: Day) -> dict[str, str]:
    """Who operator and observer are."""
    return {part: leader(day.kubectl, part) for part in PARTS}


@contextmanager
def all_new_pods_there(day: Day) -> Iterator[None]:
    """Have the last node take all new pods; operator and observer are ended, and new ones come."""
    first = day.cluster.nodes[0].name

    def there() -> set[str]:
        return {
            pod["metadata"]["name"] for pod in day.kubectl.api.list("pods", SYSTEM, labels=OURS)
        }

    day.kubectl("cordon", first)
    try:
        day.kubectl("delete", "pod", "-n", SYSTEM, "-l", OURS, "--wait=false")
        yield
        wait_until(
            lambda: {name.partition("_")[0] for name in leaders_now(day).values()} == there(),
            lambda: f"{leaders_now(day)} {there()}",
        )
    finally:
        day.kubectl("uncordon", first)


def places(fleet: Fleet, job_id: str) -> list[str]:
    """The nodes of a job's pods, the oldest first; empty for one that waits."""
    pods = fleet.pods_of(job_id).values()
    made = sorted(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
    return [str(pod["spec"].get("nodeName", "")) for pod in made]


def test_a_new_operator_and_a_new_observer_leave_the_server_alone(fault: Fault) -> None:
    assert fault.moved == fault.before


@pytest.mark.parametrize("part", PARTS)
def test_operator_and_observer_leave_it(fault: Fault, part: str) -> None:
    """They answered a server that was made while it was dead."""
    before, after = fault.leaders
    assert before[part] != after[part]
    assert fault.later["phase"] == "Stopped"


def test_a_rank_on_it_is_waited_for(fault: Fault) -> None:
    """It would come up elsewhere without files."""
    assert fault.replica["reason"] == "NodeLost"
    assert f"node `{fault.node}` is not ready" in fault.replica["message"]


def test_the_server_is_as_it_was_when_the_node_is_back(fault: Fault) -> None:
    """Its containers have gone on unheard, while operator and observer were killed."""
    assert fault.after == fault.before


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("running", "node `{}` was lost while the program ran"),
        ("starting", "node `{}` was lost before it reported"),
    ],
)
def test_a_job_on_it_fails_for_that_reason(fault: Fault, name: str, said: str) -> None:
    assert fault.missed[name]["reason"] == "NodeNotReady"
    assert said.format(fault.node) in fault.ended[name]["message"]


def test_a_volume_stays_while_its_pod_may_still_write_there(fault: Fault) -> None:
    ended = fault.ended["running"]
    assert ended["artifactsExpireAt"] == ended["finishedAt"]
    assert fault.in_use


def test_its_volume_goes_when_the_node_is_back(fault: Fault) -> None:
    running = fault.jobs["running"]
    running.wait_gone("pvc", running.claim)
    assert running.status["finishedAt"] == fault.ended["running"]["finishedAt"]


def test_a_job_that_was_deleted_meanwhile_leaves_its_volume(fault: Fault) -> None:
    left = fault.jobs["left"]
    assert not left.get("eaj", left.name)
    assert left.get("pvc", left.claim)


def test_a_job_that_may_starts_once_more_elsewhere_and_both_runs_are_billed(
    fault: Fault, day: Day
) -> None:
    runs = fault.worker["status"]["runs"]
    assert [run["node"] for run in runs] == [fault.node, day.cluster.nodes[0].name]
    assert fault.cost == sum(price_of(run, gpus=1) for run in runs)
