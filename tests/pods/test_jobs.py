"""Inference jobs on real pods, with a small program in the place of a model."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.jobs import FAILS, SMALL, SUCCEEDS, WAITS, Job, holder, moment
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

MANY = 50
LATE = 30.0
"""Seconds after its time at which something has to have happened."""


@pytest.fixture
def job(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[Job]:
    yield Job(kubectl, namespace, images["base"].reference)
    # Before its namespace, so that nothing is retried in it.
    kubectl("-n", namespace, "delete", "eaj,pod", "--all", "--grace-period=1")


def named(job: Job, name: str) -> Job:
    """Another job beside a job."""
    return Job(job.kubectl, job.namespace, job.image, name)


@pytest.mark.exclusive
def test_a_job_succeeds_and_its_pod_goes(job: Job) -> None:
    begun = time.monotonic()
    job.apply(command=SUCCEEDS)
    status = job.wait("Succeeded")
    assert time.monotonic() - begun < 20
    assert status["message"] == "Job completed successfully"
    assert status["podName"] == "ephemeralaccelerationjob-job"
    assert status["artifactPath"] == "/artifacts/output.json"
    assert moment(status["startedAt"]) <= moment(status["finishedAt"])
    assert job.condition("Succeeded")["status"] == "True"
    job.wait_gone("pod", job.pod)
    claim = job.get("pvc", job.claim)[0]
    assert "ownerReferences" not in claim["metadata"]
    assert claim["status"]["phase"] == "Bound"
    # As the seed has it.
    where = ("-n", job.namespace, "--timeout=10s")
    job.kubectl("wait", "--for=condition=Bound", f"pvc/{job.claim}", *where)


def test_a_failure_shows_its_code_and_its_last_lines(job: Job) -> None:
    job.apply(command=FAILS, ttlSecondsAfterFinished=600)
    status = job.wait("Failed")
    assert "7" in status["message"]
    assert "it is broken" in status["message"]
    assert status["exitCode"] == 7
    assert job.condition("Succeeded")["status"] == "False"
    time.sleep(5)
    assert job.get("pod", job.pod), "a failed pod obeys the same time to live"


def test_reasons_that_a_person_can_act_on(job: Job) -> None:
    oom = named(job, "oom")
    oom.apply(command=["/bin/sh", "-c", "head -c 200M /dev/zero | tail -c 190M > /dev/null"])
    image = named(job, "image")
    image.image = "localhost/no/such:1"
    image.apply(command=SUCCEEDS)
    huge = named(job, "huge")
    huge.apply(command=SUCCEEDS, resources=SMALL | {"gpu": 64})
    missing = named(job, "missing")
    said = {"reason": "WeightsMissing", "message": "no weights"}
    script = f"echo '{json.dumps(said)}' > /dev/termination-log; exit 1"
    missing.apply(command=["/bin/sh", "-c", script])
    slow = named(job, "slow")
    slow.apply(command=WAITS, activeDeadlineSeconds=2)

    assert "memory" in oom.wait("Failed", "OutOfMemory")["message"]
    assert "no weights" in missing.wait("Failed", "WeightsMissing")["message"]
    slow.wait("Failed", "DeadlineExceeded")
    wait_until(lambda: "localhost/no/such:1" in image.status.get("message", ""), "it names it")
    assert image.phase == "Pending"
    wait_until(lambda: "nvidia.com/gpu" in huge.status.get("message", ""), "it says what lacks")
    assert huge.phase == "Pending"

    # Nothing of it has started: a mistake is mended in place.
    huge.apply(resources=SMALL)
    huge.wait("Succeeded")


def test_times_to_live_are_kept_and_not_hurried(job: Job, kubectl: Kubectl) -> None:
    job.apply(command=WAITS, ttlSecondsAfterFinished=6, pvcTTLSecondsAfterFinished=12)
    job.wait("Running")
    kubectl("create", "-f", "-", input=json.dumps(holder(job)))
    job.run("touch /artifacts/go")
    status = job.wait("Succeeded")
    finished = moment(status["finishedAt"])
    assert moment(status["podExpiresAt"]) == finished + timedelta(seconds=6)
    assert moment(status["artifactsExpireAt"]) == finished + timedelta(seconds=12)

    pod_gone = job.wait_gone("pod", job.pod)
    assert 5 <= (pod_gone - finished).total_seconds() <= 6 + LATE
    time.sleep(max(0.0, (finished + timedelta(seconds=16) - datetime.now(UTC)).total_seconds()))
    assert not job.get("pvc", job.claim)[0]["metadata"].get("deletionTimestamp"), "it is in use"
    wait_until(lambda: job.condition("ArtifactsExpired").get("reason") == "InUse", "it says so")

    kubectl("-n", job.namespace, "delete", "pod", "holder")
    released = datetime.now(UTC)
    assert (job.wait_gone("pvc", job.claim) - released).total_seconds() <= LATE
    assert job.phase == "Succeeded"
    wait_until(lambda: job.condition("ArtifactsExpired").get("status") == "True", "it says so")
    time.sleep(3)
    assert not job.get("pvc", job.claim), "it is not made again"


def test_a_deleted_job_leaves_its_volume_until_its_time(job: Job) -> None:
    done, running = named(job, "done"), named(job, "running")
    done.apply(command=SUCCEEDS, pvcTTLSecondsAfterFinished=8)
    running.apply(command=WAITS, pvcTTLSecondsAfterFinished=8)
    finished = moment(done.wait("Succeeded")["finishedAt"])
    done.delete()
    gone = done.wait_gone("pvc", done.claim)
    assert 7 <= (gone - finished).total_seconds() <= 8 + LATE
    running.wait("Running")
    # Its time counts from its job's end, and the pod of a deleted job takes a moment to end.
    deleted = datetime.now(UTC)
    running.delete()
    released = max(deleted + timedelta(seconds=8), datetime.now(UTC))
    gone = running.wait_gone("pvc", running.claim)
    assert (gone - deleted).total_seconds() >= 7
    assert (gone - released).total_seconds() <= LATE


def test_a_job_of_the_same_name_finds_the_files(job: Job) -> None:
    keep = ["/bin/sh", "-c", "echo kept > /artifacts/file"]
    job.apply(command=keep)
    job.wait("Succeeded")
    claim = job.get("pvc", job.claim)[0]["metadata"]["uid"]
    job.delete()
    job.apply(command=["/bin/sh", "-c", "grep kept /artifacts/file"])
    job.wait("Succeeded")
    assert job.get("pvc", job.claim)[0]["metadata"]["uid"] == claim


def test_a_foreign_claim_is_a_conflict(job: Job, kubectl: Kubectl) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": job.claim, "namespace": job.namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Mi"}},
        },
    }
    kubectl("create", "-f", "-", input=json.dumps(foreign))
    before = job.get("pvc", job.claim)
    job.apply(command=SUCCEEDS, pvcTTLSecondsAfterFinished=0)
    job.wait("Pending", "Conflict")
    job.delete()
    time.sleep(3)
    assert job.get("pvc", job.claim) == before
    assert not job.get("pod")

    # Nobody tells the operator of it when it goes.
    job.apply(pvcTTLSecondsAfterFinished=600)
    job.wait("Pending", "Conflict")
    kubectl("-n", job.namespace, "delete", "pvc", job.claim)
    wait_until(lambda: job.status.get("reason") != "Conflict", "it is none any more", LATE)
    job.wait("Succeeded")


def test_a_suspended_job_has_its_volume_and_waits(job: Job) -> None:
    job.apply(command=SUCCEEDS, suspend=True)
    job.wait("Pending", "Suspended")
    wait_until(lambda: bool(job.get("pvc", job.claim)), "its volume is there")
    time.sleep(2)
    assert not job.get("pod")
    job.apply(suspend=False)
    job.wait("Succeeded")


def test_it_never_runs_twice(job: Job, kubectl: Kubectl) -> None:
    job.apply(command=WAITS, ttlSecondsAfterFinished=600)
    job.wait("Running")
    kubectl("-n", job.namespace, "delete", "pod", job.pod, "--grace-period=0", "--force")
    assert "deleted" in job.wait("Failed", "PodDeleted")["message"]
    job.apply(ttlSecondsAfterFinished=60)
    time.sleep(3)
    assert not job.get("pod", job.pod)


def test_once_started_only_the_times_to_live_change(job: Job, kubectl: Kubectl) -> None:
    job.apply(command=WAITS)
    job.wait("Running")
    job.apply(ttlSecondsAfterFinished=5, pvcTTLSecondsAfterFinished=60)
    with pytest.raises(pytest.fail.Exception, match="started"):
        job.apply(model="mobilenet_v3_small")
    job.wanted.pop("model")
    job.run("touch /artifacts/go")
    job.wait("Succeeded")
    with pytest.raises(pytest.fail.Exception, match="started"):
        job.apply(image="other")
    status = {"status": {"phase": "Succeeded", "finishedAt": "2001-01-01T00:00:00Z"}}
    patch = ("patch", "eaj", job.name, "-n", job.namespace, "--type=merge", "-p")
    finished = job.status["finishedAt"]
    kubectl(*patch, json.dumps(status))
    assert job.status["finishedAt"] == finished, "status is a resource of its own"


@pytest.mark.exclusive
def test_many_at_once_all_finish(job: Job, kubectl: Kubectl) -> None:
    jobs = [named(job, f"job-{number}") for number in range(MANY)]
    items = [one.manifest(command=SUCCEEDS, pvcTTLSecondsAfterFinished=0) for one in jobs]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    kubectl("apply", "--server-side", "-f", "-", input=json.dumps(listed))

    def unfinished() -> int:
        phases = [found.get("status", {}).get("phase", "") for found in job.get("eaj")]
        return len(phases) - phases.count("Succeeded")

    wait_while_fewer(unfinished, "jobs have not succeeded")
    assert len(job.get("eaj")) == MANY
    wait_while_fewer(lambda: len(job.get("pod,pvc")), "pods and volumes are left")


def wait_while_fewer(count: Callable[[], int], what: str) -> None:
    """Wait until there are none, for as long as they become fewer."""
    left = count()
    while left:
        before = left
        wait_until(lambda: count() < before, f"{before} {what}")  # noqa: B023 - at once
        left = count()
