"""Volumes outlive their jobs for their retention period."""

from __future__ import annotations

from typing import Any

import pytest

from unit.observer.jobs.cluster import LATE, POD, VOLUME, Cluster, at_end, finished, holder
from unit.observer.jobs.things import OURS, at


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


def test_a_job_that_goes_while_it_is_written_to_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch delivers the deletion before the response to the write arrives."""
    cluster = Cluster()
    wake = cluster.wake

    async def wake_and_go(*about: Any) -> dict[str, Any]:
        written = await wake(*about)
        cluster.drop("jobs", "my-job")
        return written

    monkeypatch.setattr(cluster, "wake", wake_and_go)
    cluster.create(pvcTTLSecondsAfterFinished=0)
    cluster.runs()
    cluster.exits()
    assert cluster.woken
    assert not list(cluster.process.caches.jobs)
    cluster.wait(LATE)
    assert VOLUME not in cluster.claims


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
    assert set(notes) == {"gpu.yourdomain.io/pvc-ttl-seconds", "gpu.yourdomain.io/job-uid"}
    assert cluster.status()["phase"] == "Pending"
    cluster.runs()
    cluster.exits()
    cluster.wait(49)
    assert VOLUME in cluster.claims
    cluster.wait(LATE + 1)
    assert VOLUME not in cluster.claims


def test_another_persons_job_neither_has_a_claim_nor_keeps_it() -> None:
    cluster = Cluster()
    finished(cluster, pvcTTLSecondsAfterFinished=50, owner="alice")
    cluster.delete_job()
    cluster.wait(20)
    hers = cluster.claims[VOLUME]["metadata"]["uid"]
    cluster.create(pvcTTLSecondsAfterFinished=600, owner="bob")
    assert cluster.status()["reason"] == "Conflict"
    cluster.wait(29)
    assert cluster.claims[VOLUME]["metadata"]["uid"] == hers
    cluster.wait(LATE + 1)
    # That triggered the role, which created another one.
    assert cluster.claims[VOLUME]["metadata"]["uid"] != hers
    cluster.runs()
    cluster.exits()
    assert cluster.status()["phase"] == "Succeeded"


def test_an_end_deletes_no_other_persons_volume() -> None:
    cluster = Cluster()
    finished(cluster, pvcTTLSecondsAfterFinished=10**6, owner="alice")
    cluster.delete_job()
    cluster.role_works = False
    ended = {"phase": "Failed", "startedAt": at(0), "finishedAt": at(0)}
    spec = {"pvcTTLSecondsAfterFinished": 0, "owner": "bob"}
    cluster.store("jobs", {"metadata": {"name": "my-job"}, "spec": spec, "status": ended})
    cluster.wait(LATE)
    assert VOLUME in cluster.claims


def test_a_job_that_came_and_went_unseen_starts_its_claims_time_anew() -> None:
    cluster = Cluster()
    cluster.create(pvcTTLSecondsAfterFinished=50)
    cluster.delete_job()
    cluster.wait(5)
    cluster.process_works = False
    cluster.create(pvcTTLSecondsAfterFinished=50)
    cluster.runs()
    cluster.wait(40)
    cluster.delete_job()
    cluster.wait(4)
    cluster.restart()
    cluster.wait(49)
    assert VOLUME in cluster.claims
    cluster.wait(LATE)
    assert VOLUME not in cluster.claims


def test_a_claim_of_an_earlier_release_keeps_its_time() -> None:
    """Its role did not record the job's UID."""
    cluster = Cluster()
    labels = OURS | {"gpu.yourdomain.io/job": "my-job"}
    notes = {"gpu.yourdomain.io/released-at": at(-30), "gpu.yourdomain.io/pvc-ttl-seconds": "50"}
    meta = {"name": VOLUME, "labels": labels, "annotations": notes}
    cluster.store("claims", {"metadata": meta, "spec": {}, "status": {"phase": "Bound"}})
    cluster.wait(19)
    assert VOLUME in cluster.claims
    cluster.wait(LATE)
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
