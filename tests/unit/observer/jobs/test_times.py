"""Pods and volumes are deleted on time and never early, whatever the clocks do."""

from __future__ import annotations

from datetime import timedelta

import pytest

from unit.observer.jobs.cluster import LATE, POD, VOLUME, Cluster, at_end, finished, holder


def gone_after(cluster: Cluster, name: str) -> float:
    """Seconds from the job's end to a deletion."""
    return (cluster.gone_at[name] - at_end(cluster)).total_seconds()


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
    # Nothing is created again, and nothing is written any more.
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
    # What has expired remains expired.
    cluster.edit(ttlSecondsAfterFinished=9999, pvcTTLSecondsAfterFinished=9999)
    cluster.wait(10)
    assert cluster.reason("PodExpired") == ("True", "Expired")
    assert cluster.reason("ArtifactsExpired") == ("True", "Expired")
    assert (cluster.pods, cluster.claims) == ({}, {})


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
    """Set the clocks; the clock watch notices ours."""
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


@pytest.mark.parametrize(("ours", "theirs"), [(10**6, 0), (0, 10**6), (-(10**6), -(10**6))])
def test_a_clock_that_was_set_deletes_no_volume_whose_job_is_gone(
    ours: float, theirs: float
) -> None:
    cluster = Cluster()
    cluster.create(pvcTTLSecondsAfterFinished=100)
    cluster.delete_job()
    step(cluster, ours, theirs)
    cluster.wait(95)
    assert VOLUME in cluster.claims
    cluster.restart()
    step(cluster, -ours, -theirs)
    cluster.wait(4)
    assert VOLUME in cluster.claims
    cluster.wait(1 + LATE)
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
