"""The times of jobs, over days: the observer's clock and the API server's are set here."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.jobs import SUCCEEDS, WAITS, Job, Thing, holder, moment
from support.servers import wait_until

from devctl.api.ephemeral_acceleration_job import FINISHED_AT, RELEASED_AT

if TYPE_CHECKING:
    from support.plane.parts import ObserverProcess

HOUR, DAY = 3600, 86400
A_MOMENT = 60
"""Seconds: more than a job takes here, and than clocks may differ by."""


def tomorrow(observer: ObserverProcess, seconds: float) -> None:
    """Let it be that much later, for everybody."""
    observer.set_clocks(own=seconds, server=seconds)


def notes(job: Job) -> Thing:
    """The annotations of its volume's claim."""
    found: Thing = job.get("pvc", job.claim)[0]["metadata"]["annotations"]
    return found


def finish(*jobs: Job) -> list[Thing]:
    """Wait for the success of jobs that were applied; their statuses."""
    return [job.wait("Succeeded") for job in jobs]


def test_a_pod_stays_for_its_days_and_no_longer(job: Job, observer: ObserverProcess) -> None:
    first, second = job.beside("first"), job.beside("second")
    first.apply(command=SUCCEEDS, ttlSecondsAfterFinished=2 * DAY)
    second.apply(command=SUCCEEDS, ttlSecondsAfterFinished=2 * DAY + 2 * A_MOMENT)
    status, _ = finish(first, second)
    assert moment(status["podExpiresAt"]) - moment(status["finishedAt"]) == timedelta(days=2)
    tomorrow(observer, 2 * DAY + A_MOMENT)
    first.wait_gone("pod", first.pod)
    assert second.condition("PodExpired")["status"] == "False"
    assert second.get("pod", second.pod), "its time is not over"
    tomorrow(observer, 2 * DAY + 3 * A_MOMENT)
    second.wait_gone("pod", second.pod)
    assert first.status["finishedAt"] == status["finishedAt"]


def test_a_volume_stays_for_its_week_and_no_longer(job: Job, observer: ObserverProcess) -> None:
    first, second = job.beside("first"), job.beside("second")
    first.apply(command=SUCCEEDS, pvcTTLSecondsAfterFinished=7 * DAY)
    second.apply(command=SUCCEEDS, pvcTTLSecondsAfterFinished=7 * DAY + 2 * A_MOMENT)
    status, _ = finish(first, second)
    assert moment(status["artifactsExpireAt"]) - moment(status["finishedAt"]) == timedelta(days=7)
    tomorrow(observer, 7 * DAY + A_MOMENT)
    first.wait_gone("pvc", first.claim)
    wait_until(lambda: first.condition("ArtifactsExpired").get("status") == "True", "it says so")
    assert second.condition("ArtifactsExpired")["status"] == "False"
    assert second.get("pvc", second.claim), "its time is not over"
    tomorrow(observer, 7 * DAY + 3 * A_MOMENT)
    second.wait_gone("pvc", second.claim)
    # Whoever has ended gets nothing any more, though the role runs again.
    first.apply(pvcTTLSecondsAfterFinished=8 * DAY)
    first.wait_applied()
    assert not first.get("pvc", first.claim)
    assert first.phase == "Succeeded"


def test_a_volume_in_use_stays_until_it_is_not(job: Job, observer: ObserverProcess) -> None:
    job.apply(command=WAITS, pvcTTLSecondsAfterFinished=DAY)
    job.wait("Running")
    job.kubectl("create", "-f", "-", input=json.dumps(holder(job)))
    where = ("-n", job.namespace)
    job.kubectl("wait", *where, "pod/holder", "--for=condition=Ready", "--timeout=60s")
    job.end("succeed")
    finish(job)
    tomorrow(observer, DAY + A_MOMENT)
    wait_until(lambda: job.condition("ArtifactsExpired").get("reason") == "InUse", "it says so")
    assert "deletionTimestamp" not in job.get("pvc", job.claim)[0]["metadata"]
    job.kubectl(*where, "delete", "pod", "holder")
    tomorrow(observer, DAY + 2 * A_MOMENT)
    job.wait_gone("pvc", job.claim)


def test_the_volume_of_a_deleted_job_keeps_its_time(job: Job, observer: ObserverProcess) -> None:
    """It counts from the job's end; for one that ran from when it was seen to be gone."""
    done, running, kept = map(job.beside, ("done", "running", "kept"))
    for one, days in ((done, 1), (running, 1), (kept, 3)):
        one.apply(command=WAITS, pvcTTLSecondsAfterFinished=days * DAY)
    for one in (done, running, kept):
        one.wait("Running")
    done.end("succeed")
    done.wait("Succeeded")
    # The role copies the job's end to the claim, in the run that the end itself has caused.
    wait_until(lambda: FINISHED_AT in notes(done), "the claim knows when its job ended")
    tomorrow(observer, DAY / 2)
    for one in (done, running, kept):
        one.delete()
        wait_until(lambda one=one: RELEASED_AT in notes(one), f"{one.name} is seen to be gone")  # type: ignore[misc]
    tomorrow(observer, DAY + A_MOMENT)
    done.wait_gone("pvc", done.claim)
    assert running.get("pvc", running.claim)
    tomorrow(observer, 1.5 * DAY + A_MOMENT)
    running.wait_gone("pvc", running.claim)
    assert kept.get("pvc", kept.claim)


@pytest.mark.parametrize("wrong", [{"own": DAY}, {"server": DAY}], ids=["own", "server"])
def test_one_clock_alone_neither_hurries_nor_deletes(
    job: Job, observer: ObserverProcess, wrong: dict[str, float]
) -> None:
    times = {"ttlSecondsAfterFinished": HOUR, "pvcTTLSecondsAfterFinished": 2 * HOUR}
    job.apply(command=SUCCEEDS, **times)
    before = job.wait("Succeeded")
    observer.set_clocks(**wrong)
    # By the time that a later one is looked at, this one has been.
    later = job.beside("later")
    later.apply(command=SUCCEEDS, **times)
    assert "clocks" in later.wait("Running", "Ending")["message"]
    assert job.get("pod", job.pod)
    assert job.get("pvc", job.claim)
    tomorrow(observer, DAY)
    job.wait_gone("pod", job.pod)
    job.wait_gone("pvc", job.claim)
    assert job.status["finishedAt"] == before["finishedAt"]
    later.wait("Succeeded")


def test_an_end_in_the_future_is_not_believed(job: Job, observer: ObserverProcess) -> None:
    job.apply(command=SUCCEEDS, ttlSecondsAfterFinished=HOUR)
    job.wait("Succeeded")
    tomorrow(observer, -DAY)
    for kind in ("PodExpired", "ArtifactsExpired"):
        wait_until(
            lambda kind=kind: job.condition(kind).get("reason") == "ClockNotTrusted",  # type: ignore[misc]
            f"{kind} is not known",
        )
    assert job.get("pod", job.pod)
    tomorrow(observer, 0)
    wait_until(lambda: job.condition("PodExpired").get("reason") == "Kept", "it is trusted again")


def test_a_time_that_is_changed_counts_from_the_same_end(
    job: Job, observer: ObserverProcess
) -> None:
    job.apply(command=SUCCEEDS, ttlSecondsAfterFinished=HOUR, pvcTTLSecondsAfterFinished=HOUR)
    finished = moment(job.wait("Succeeded")["finishedAt"])
    job.apply(ttlSecondsAfterFinished=DAY, pvcTTLSecondsAfterFinished=2 * DAY)
    kept = str(finished + timedelta(days=2))
    wait_until(lambda: str(moment(job.status["artifactsExpireAt"])) == kept, "it is told")
    assert moment(job.status["podExpiresAt"]) == finished + timedelta(days=1)
    tomorrow(observer, DAY - A_MOMENT)
    job.apply(ttlSecondsAfterFinished=HOUR, pvcTTLSecondsAfterFinished=HOUR)
    job.wait_gone("pod", job.pod)
    job.wait_gone("pvc", job.claim)
