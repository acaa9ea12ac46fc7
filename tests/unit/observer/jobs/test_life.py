"""Whole lives of jobs in a cluster in memory: whatever dies in between, the end is the same."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer.jobs.deadlines import moment
from devctl_observer.store import Key

from unit.observer.jobs.cluster import CLAIM_OF, POD_OF, Cluster, KilledError
from unit.observer.jobs.things import at

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    Step = Callable[[Cluster], None]

LATE = 30
POD, VOLUME = POD_OF + "my-job", CLAIM_OF + "my-job"


def lost_pod(cluster: Cluster) -> None:
    cluster.drop("pods", POD)
    cluster.settle()


def dies(cluster: Cluster) -> None:
    """The node dies, and the cluster asks for the end of its pod, of which nobody hears."""
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
    """What is left, but for when that was seen."""
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
        ("Succeeded", "Completed"),
    ]
    assert ends["failure at once"]["message"] == "exit code 3: it is broken"


def finished(cluster: Cluster, **spec: Any) -> None:
    cluster.create(**spec)
    cluster.runs()
    cluster.wait(5)
    cluster.exits()


def gone_after(cluster: Cluster, name: str) -> float:
    """Seconds from the job's end."""
    return (cluster.gone_at[name] - at_end(cluster)).total_seconds()


def at_end(cluster: Cluster) -> datetime:
    found = moment(cluster.status()["finishedAt"])
    assert found
    return found


@pytest.mark.parametrize(("ttl", "pvc_ttl"), [(0, 0), (0, 10), (20, 5), (20, 60), (5, 5)])
def test_pod_and_volume_go_in_time_and_never_before(ttl: int, pvc_ttl: int) -> None:
    cluster = Cluster()
    finished(cluster, ttlSecondsAfterFinished=ttl, pvcTTLSecondsAfterFinished=pvc_ttl)
    cluster.wait(120)
    assert ttl <= gone_after(cluster, POD) <= ttl + LATE
    volume = max(ttl, pvc_ttl)
    assert volume <= gone_after(cluster, VOLUME) <= volume + LATE
    assert cluster.gone_at[POD] <= cluster.gone_at[VOLUME]
    assert cluster.reason("PodExpired") == ("True", "Expired")
    assert cluster.reason("ArtifactsExpired") == ("True", "Expired")
    assert cluster.told[-3:] == ["Succeeded", "PodExpired", "ArtifactsExpired"]
    # Nothing is made again, and nobody writes any more.
    writes = cluster.writes
    cluster.wait(100)
    cluster.process.look_again()
    cluster.settle()
    assert cluster.writes == writes
    assert (cluster.pods, cluster.claims) == ({}, {})


def test_edits_move_the_times() -> None:
    cluster = Cluster()
    finished(cluster, ttlSecondsAfterFinished=20, pvcTTLSecondsAfterFinished=40)
    cluster.wait(10)
    cluster.edit(ttlSecondsAfterFinished=100, pvcTTLSecondsAfterFinished=50)
    assert cluster.status()["artifactsExpireAt"] == cluster.status()["podExpiresAt"]
    cluster.wait(80)
    assert POD in cluster.pods
    assert VOLUME in cluster.claims
    cluster.edit(ttlSecondsAfterFinished=0)
    cluster.wait(LATE)
    assert (cluster.pods, cluster.claims) == ({}, {})
    # What is over stays over.
    cluster.edit(ttlSecondsAfterFinished=9999, pvcTTLSecondsAfterFinished=9999)
    cluster.wait(10)
    assert cluster.reason("PodExpired") == ("True", "Expired")
    assert cluster.reason("ArtifactsExpired") == ("True", "Expired")
    assert (cluster.pods, cluster.claims) == ({}, {})


def holder(cluster: Cluster, phase: str = "Running") -> None:
    volume = {"name": "a", "persistentVolumeClaim": {"claimName": VOLUME}}
    spec = {"containers": [], "volumes": [volume]}
    cluster.store(
        "pods", {"metadata": {"name": "holder"}, "spec": spec, "status": {"phase": phase}}
    )


def test_a_volume_in_use_waits() -> None:
    cluster = Cluster()
    cluster.create(pvcTTLSecondsAfterFinished=5)
    holder(cluster)
    cluster.runs()
    cluster.exits()
    cluster.wait(60)
    assert VOLUME in cluster.claims
    assert cluster.reason("ArtifactsExpired") == ("False", "InUse")
    assert cluster.told.count("InUse") == 1
    cluster.drop("pods", "holder")
    cluster.wait(16)
    assert VOLUME not in cluster.claims
    assert cluster.reason("ArtifactsExpired") == ("True", "Expired")


def test_a_pod_that_has_ended_uses_nothing() -> None:
    cluster = Cluster()
    cluster.create(pvcTTLSecondsAfterFinished=5)
    holder(cluster, "Succeeded")
    cluster.runs()
    cluster.exits()
    cluster.wait(5 + LATE)
    assert VOLUME not in cluster.claims


def step(cluster: Cluster, ours: float = 0, theirs: float = 0) -> None:
    """Clocks are set; the clock watch sees ours."""
    cluster.ours += timedelta(seconds=ours)
    cluster.theirs += timedelta(seconds=theirs)
    cluster.process.look_again()
    cluster.settle()


@pytest.mark.parametrize(("ours", "theirs"), [(10**6, 0), (0, 10**6)])
def test_one_clock_that_runs_ahead_deletes_nothing(ours: float, theirs: float) -> None:
    cluster = Cluster()
    finished(cluster, ttlSecondsAfterFinished=100, pvcTTLSecondsAfterFinished=200)
    step(cluster, ours, theirs)
    cluster.wait(90)
    assert POD in cluster.pods
    assert VOLUME in cluster.claims
    cluster.restart()
    cluster.wait(5)
    assert POD in cluster.pods
    cluster.wait(5 + LATE)
    assert POD not in cluster.pods
    cluster.wait(100)
    assert VOLUME not in cluster.claims


def test_clocks_that_were_set_back_keep_everything_until_they_are_right() -> None:
    cluster = Cluster()
    finished(cluster, ttlSecondsAfterFinished=10, pvcTTLSecondsAfterFinished=20)
    step(cluster, -(10**6), -(10**6))
    cluster.wait(100)
    assert POD in cluster.pods
    assert cluster.reason("PodExpired") == ("Unknown", "ClockNotTrusted")
    assert cluster.reason("ArtifactsExpired") == ("Unknown", "ClockNotTrusted")
    step(cluster, 10**6, 10**6)
    cluster.wait(LATE)
    assert (cluster.pods, cluster.claims) == ({}, {})


def test_an_end_waits_until_clocks_agree() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.runs()
    step(cluster, ours=600)
    cluster.exits()
    cluster.wait(20)
    assert (cluster.status()["phase"], cluster.status()["reason"]) == ("Running", "Ending")
    assert POD in cluster.pods
    step(cluster, ours=-600)
    assert cluster.status()["phase"] == "Succeeded"
    ended = cluster.status()["finishedAt"]
    assert ended == cluster.status()["startedAt"]


def test_each_loss_wakes_the_role_once_also_after_a_restart() -> None:
    cluster = Cluster()
    cluster.create()
    for _ in range(3):
        cluster.wait(5)
        cluster.drop("pods", POD)
        cluster.wait(2)
        assert POD not in cluster.pods, "a watch may lag behind"
        cluster.wait(2)
        assert POD in cluster.pods
    cluster.drop("claims", VOLUME)
    cluster.restart()
    cluster.wait(4)
    assert VOLUME in cluster.claims
    cluster.drop("claims", VOLUME)
    cluster.restart()
    cluster.wait(4)
    assert VOLUME in cluster.claims
    assert len(cluster.woken) == len(set(cluster.woken)) == 5
    # A role that cannot is not driven.
    cluster.role_works = False
    cluster.drop("pods", POD)
    cluster.wait(60)
    assert len(cluster.woken) == 6


def test_a_role_that_met_an_earlier_jobs_pod_is_woken_once_that_is_gone() -> None:
    cluster = Cluster()
    cluster.create()
    old = cluster.pods[POD]
    cluster.drop("jobs", "my-job")
    cluster.role_works = False
    cluster.create()
    job = cluster.jobs["my-job"]
    said = {"type": "Applied", "status": "False", "reason": "Conflict", "message": "a pod is there"}
    status = job["status"] | {"conditions": [said | {"observedGeneration": 1}]}
    cluster.store("jobs", job | {"status": status})
    cluster.wait(5)
    assert cluster.woken == []
    assert cluster.status()["reason"] == "Conflict"
    cluster.drop("pods", POD)
    cluster.role_works = True
    cluster.wait(5)
    assert len(cluster.woken) == 1
    assert cluster.pods[POD]["metadata"]["uid"] != old["metadata"]["uid"]
    cluster.wait(60)
    assert len(cluster.woken) == 1


def test_a_watch_that_lags_ends_no_job() -> None:
    cluster = Cluster()
    cluster.create()
    cluster.runs()
    children = cluster.process.caches.children
    children.pods.drop(Key("team", POD))
    cluster.process.look_again()
    cluster.settle()
    cluster.wait(30)
    assert cluster.status()["phase"] == "Running"


def test_a_volume_that_somebody_deletes_is_told_of() -> None:
    cluster = Cluster()
    finished(cluster, pvcTTLSecondsAfterFinished=600)
    cluster.wait(5)
    cluster.drop("claims", VOLUME)
    cluster.wait(5)
    assert cluster.reason("ArtifactsExpired") == ("True", "VolumeGone")
    cluster.wait(700)
    assert cluster.reason("ArtifactsExpired") == ("True", "VolumeGone")
    assert VOLUME not in cluster.claims


def test_a_foreign_claim_is_left_alone() -> None:
    cluster = Cluster()
    cluster.create()
    claim = cluster.claims[VOLUME]
    cluster.store("claims", claim | {"metadata": claim["metadata"] | {"labels": {}}})
    cluster.edit(pvcTTLSecondsAfterFinished=0)
    cluster.runs()
    cluster.exits()
    cluster.delete_job()
    cluster.wait(100)
    assert VOLUME in cluster.claims


def test_a_claim_outlives_its_job_for_its_time() -> None:
    cluster = Cluster()
    finished(cluster, pvcTTLSecondsAfterFinished=50)
    cluster.wait(20)
    over = at_end(cluster)
    cluster.delete_job()
    cluster.wait(100)
    after = (cluster.gone_at[VOLUME] - over).total_seconds()
    assert 50 <= after <= 50 + LATE


def test_a_claim_of_a_job_that_never_ended_counts_from_when_it_was_released() -> None:
    cluster = Cluster()
    cluster.create(pvcTTLSecondsAfterFinished=50)
    cluster.wait(20)
    cluster.delete_job()
    cluster.wait(10)
    released = cluster.claims[VOLUME]["metadata"]["annotations"]["gpu.yourdomain.io/released-at"]
    assert released == at(20)
    cluster.restart()
    cluster.wait(35)
    assert VOLUME in cluster.claims
    cluster.wait(LATE)
    assert VOLUME not in cluster.claims


def test_a_job_of_the_same_name_takes_its_claim_over() -> None:
    cluster = Cluster()
    finished(cluster, pvcTTLSecondsAfterFinished=50)
    cluster.delete_job()
    cluster.wait(20)
    cluster.create(pvcTTLSecondsAfterFinished=50)
    cluster.wait(100)
    notes = cluster.claims[VOLUME]["metadata"]["annotations"]
    assert set(notes) == {"gpu.yourdomain.io/pvc-ttl-seconds"}
    assert cluster.status()["phase"] == "Pending"
    cluster.runs()
    cluster.exits()
    cluster.wait(49)
    assert VOLUME in cluster.claims
    cluster.wait(LATE + 1)
    assert VOLUME not in cluster.claims


def test_a_released_volume_in_use_waits() -> None:
    cluster = Cluster()
    finished(cluster, pvcTTLSecondsAfterFinished=5)
    holder(cluster)
    cluster.delete_job()
    cluster.wait(60)
    assert VOLUME in cluster.claims
    cluster.drop("pods", "holder")
    cluster.wait(16)
    assert VOLUME not in cluster.claims


@pytest.mark.parametrize(
    "notes",
    [
        {"gpu.yourdomain.io/pvc-ttl-seconds": "soon"},
        {"gpu.yourdomain.io/pvc-ttl-seconds": "-1"},
        {"gpu.yourdomain.io/pvc-ttl-seconds": "٣"},
        {"gpu.yourdomain.io/finished-at": "yesterday"},
        {"gpu.yourdomain.io/finished-at": "2001-01-01T00:00:00"},
    ],
)
def test_notes_that_cannot_be_read_delete_nothing(notes: dict[str, str]) -> None:
    cluster = Cluster()
    finished(cluster, pvcTTLSecondsAfterFinished=5)
    claim = cluster.claims[VOLUME]
    annotations = claim["metadata"]["annotations"] | notes
    cluster.store("claims", claim | {"metadata": claim["metadata"] | {"annotations": annotations}})
    cluster.delete_job()
    cluster.wait(200)
    assert VOLUME in cluster.claims


def test_a_bound_claim_can_be_waited_for() -> None:
    cluster = Cluster()
    cluster.create(suspend=True)
    assert cluster.claims[VOLUME]["status"]["conditions"][0]["type"] == "Bound"
    assert cluster.claims[VOLUME]["status"]["phase"] == "Bound"


def test_a_job_that_is_deleted_in_the_foreground_is_left_in_peace() -> None:
    cluster = Cluster()
    finished(cluster, ttlSecondsAfterFinished=5, pvcTTLSecondsAfterFinished=5)
    job = cluster.jobs["my-job"]
    cluster.store("jobs", job | {"metadata": job["metadata"] | {"deletionTimestamp": at(5)}})
    cluster.wait(60)
    assert POD in cluster.pods
    assert VOLUME in cluster.claims
