"""Complete lives of jobs in a fake cluster: whatever fails meanwhile, the end is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer.judging.clocks import to_text

from unit.observer.jobs.cluster import POD, Cluster, KilledError
from unit.observer.jobs.things import at, container

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[Cluster], None]


def lost_pod(cluster: Cluster) -> None:
    cluster.drop("pods", POD)
    cluster.settle()


def dies(cluster: Cluster) -> None:
    """The node dies, and its pod is deleted without an answer from the kubelet."""
    cluster.node_is(ready=False)
    pod = cluster.pods[POD]
    going = {"deletionTimestamp": at(cluster.seconds + 30), "deletionGracePeriodSeconds": 30}
    cluster.store("pods", pod | {"metadata": pod["metadata"] | going})
    cluster.settle()


def wait(seconds: int) -> Step:
    return lambda cluster: cluster.wait(seconds)


LIVES: dict[str, tuple[dict[str, Any], list[Step]]] = {
    "success": (
        {"ttlSecondsAfterFinished": 20, "pvcTTLSecondsAfterFinished": 60},
        [wait(2), Cluster.runs, wait(3), Cluster.exits, wait(10), wait(40), wait(60)],
    ),
    "failure at once": (
        {"pvcTTLSecondsAfterFinished": 0},
        [Cluster.runs, wait(1), lambda c: c.exits(3, "it is broken"), wait(10), wait(40)],
    ),
    "never started, then lost": (
        {"pvcTTLSecondsAfterFinished": 30},
        [wait(5), lost_pod, wait(10), Cluster.runs, wait(1), Cluster.exits, wait(60)],
    ),
    "deleted pod": (
        {"ttlSecondsAfterFinished": 20, "pvcTTLSecondsAfterFinished": 20},
        [Cluster.runs, wait(3), lost_pod, wait(60)],
    ),
    "dead node": ({}, [Cluster.runs, wait(3), dies, wait(60)]),
    "dead node before the start": (
        {"pvcTTLSecondsAfterFinished": 20},
        [lambda c: c.pod_is("Pending"), wait(3), dies, wait(60)],
    ),
    "suspended": (
        {"suspend": True, "pvcTTLSecondsAfterFinished": 5},
        [wait(5), lambda c: c.edit(suspend=False), Cluster.runs, Cluster.exits, wait(40)],
    ),
}


def live(life: str, restart_after: int | None = None, killed_at: int = 0) -> Cluster:
    spec, steps = LIVES[life]
    cluster = Cluster()
    cluster.fails_at = killed_at
    for number, step in enumerate([lambda c: c.create(**spec), *steps]):
        try:
            step(cluster)
        except KilledError:
            cluster.restart()
            cluster.settle()
            if number > 0:
                cluster.wait(60)
        if number == restart_after:
            cluster.restart()
            cluster.settle()
    cluster.wait(10)
    return cluster


def end(cluster: Cluster) -> Any:
    """The final state, without transition times."""
    status = dict(cluster.status())
    status["conditions"] = sorted(
        ({k: v for k, v in c.items() if k != "lastTransitionTime"} for c in status["conditions"]),
        key=lambda c: str(c["type"]),
    )
    return status, sorted(cluster.pods), sorted(cluster.claims)


@pytest.mark.parametrize("life", LIVES)
def test_a_restart_at_any_step_changes_nothing(life: str) -> None:
    expected = end(live(life))
    for step in range(len(LIVES[life][1]) + 1):
        assert end(live(life, restart_after=step)) == expected, step


@pytest.mark.parametrize("life", ["success", "failure at once", "suspended"])
def test_a_death_at_any_write_loses_nothing(life: str) -> None:
    whole = live(life)
    for write in range(1, whole.writes + 1):
        cluster = live(life, killed_at=write)
        status, pods, claims = end(cluster)
        expected = end(whole)
        assert (pods, claims) == expected[1:], write
        for name in ("phase", "reason", "message", "exitCode", "artifactPath", "podName"):
            assert status.get(name) == expected[0].get(name), (write, name)


def test_the_ends_are_as_written() -> None:
    ends = {life: live(life).status() for life in LIVES}
    assert [(s["phase"], s["reason"]) for s in ends.values()] == [
        ("Succeeded", "Completed"),
        ("Failed", "NonZeroExit"),
        ("Succeeded", "Completed"),
        ("Failed", "PodDeleted"),
        ("Failed", "NodeLost"),
        ("Failed", "NodeLost"),
        ("Succeeded", "Completed"),
    ]
    assert ends["failure at once"]["message"] == "exit code 3: it is broken"


def test_a_pod_that_goes_with_its_last_words_is_heard() -> None:
    """A kubelet reports the end of a program and removes the pod between two reconciliations."""
    cluster = Cluster()
    cluster.create()
    cluster.settle()
    cluster.runs()
    evicted = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    words = {"exitCode": 143, "reason": "Error", "finishedAt": to_text(cluster.theirs)}
    pod = cluster.pods[POD]
    status = pod["status"] | {
        "phase": "Failed",
        "conditions": [evicted],
        "containerStatuses": [container(terminated=words)],
    }
    cluster.store("pods", pod | {"status": status})
    cluster.drop("pods", POD)
    cluster.settle()
    found = cluster.status()
    assert (found["phase"], found["reason"], found["exitCode"]) == ("Failed", "Evicted", 143)
    assert not cluster.process.caches.last
