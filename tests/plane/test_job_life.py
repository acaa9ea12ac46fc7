"""What a job goes through, and what it says of that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.jobs import EATS, FAILS, SMALL, SUCCEEDS, WAITS, Job, moment
from support.plane.content import CAPACITY, GPUS, NODES
from support.servers import wait_until

from devctl.api.ephemeral_acceleration_job import PVC_TTL_SECONDS, WAKE

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed")

MANY, HOUR = 30, 3600
ROOM = int(CAPACITY[GPUS]) * len(NODES)
NO_IMAGE = "localhost/no/such:1"
KEPT = {"ttlSecondsAfterFinished": 600}
KINDS = "ephemeralaccelerationjob,pod,persistentvolumeclaim,configmap,secret,service"


def test_a_job_succeeds_and_its_pod_goes(job: Job) -> None:
    job.apply(command=SUCCEEDS)
    status = job.wait("Succeeded")
    assert status["message"] == "Job completed successfully"
    assert status["podName"] == "ephemeralaccelerationjob-job"
    assert status["artifactPath"] == "/artifacts/output.json"
    assert moment(status["startedAt"]) <= moment(status["finishedAt"])
    assert job.condition("Succeeded")["status"] == "True"
    job.wait_gone("pod", job.pod)
    claim = job.get("pvc", job.claim)[0]
    assert "ownerReferences" not in claim["metadata"]
    assert claim["status"]["phase"] == "Bound"
    # As people wait for it; Kubernetes itself has no such condition.
    where = ("-n", job.namespace, "--timeout=10s")
    job.kubectl("wait", "--for=condition=Bound", f"pvc/{job.claim}", *where)


def test_a_failure_shows_its_code_and_its_last_lines(job: Job) -> None:
    job.apply(command=FAILS, **KEPT)
    status = job.wait("Failed", "NonZeroExit")
    assert (status["exitCode"], status["message"]) == (7, "exit code 7: first | it is broken")
    assert job.condition("Succeeded")["status"] == "False"
    kept = job.condition("PodExpired")
    assert (kept["status"], kept["reason"]) == ("False", "Kept"), "as one that succeeds is"
    assert job.get("pod", job.pod)


def test_reasons_that_a_person_can_act_on(job: Job) -> None:
    hungry, image, huge, slow = map(job.beside, ("hungry", "image", "huge", "slow"))
    image.image = NO_IMAGE
    hungry.apply(command=EATS)
    image.apply(command=SUCCEEDS)
    huge.apply(command=SUCCEEDS, resources=SMALL | {"gpu": 64})
    slow.apply(command=WAITS, activeDeadlineSeconds=1)

    assert "memory" in hungry.wait("Failed", "OutOfMemory")["message"]
    assert "activeDeadlineSeconds" in slow.wait("Failed", "DeadlineExceeded")["message"]
    assert NO_IMAGE in image.wait("Pending", "ImagePullFailed")["message"]
    assert GPUS in huge.wait("Pending", "Unschedulable")["message"]

    # Nothing of it has started: a mistake is fixed in place.
    huge.apply(resources=SMALL)
    huge.wait("Succeeded")


def test_a_job_of_the_same_name_gets_the_volume(job: Job) -> None:
    job.apply(command=SUCCEEDS)
    job.wait("Succeeded")
    claim = job.get("pvc", job.claim)[0]["metadata"]["uid"]
    job.delete()
    job.apply()
    job.wait("Succeeded")
    assert job.get("pvc", job.claim)[0]["metadata"]["uid"] == claim


def test_another_persons_job_does_not_get_the_volume(job: Job) -> None:
    job.apply(command=SUCCEEDS, owner="alice", pvcTTLSecondsAfterFinished=HOUR)
    job.wait("Succeeded")
    hers = job.get("pvc", job.claim)[0]["metadata"]["uid"]
    job.delete()
    job.apply(owner="bob")
    message = job.wait("Pending", "Conflict")["message"]
    assert job.condition("Applied")["reason"] == "Conflict"
    assert "of `alice`; choose another name" in message
    assert not job.get("pod"), "nothing runs on her files"

    # Somebody who may deletes it: nobody has to do anything about the job.
    job.kubectl.api.delete("pvc", job.claim, job.namespace)
    job.wait("Succeeded")
    assert job.get("pvc", job.claim)[0]["metadata"]["uid"] != hers


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
    # By the time that another one has come and gone, with its volume, this one would have, too.
    other = job.beside("other")
    other.apply(command=SUCCEEDS, pvcTTLSecondsAfterFinished=0)
    other.wait("Succeeded")
    other.delete()
    other.wait_gone("pvc", other.claim)
    assert job.get("pvc", job.claim) == before
    assert not job.get("pod")

    # Nobody tells the operator of it when it goes.
    job.apply(pvcTTLSecondsAfterFinished=600)
    job.wait("Pending", "Conflict")
    wait_until(
        lambda: WAKE in job.get("eaj", job.name)[0]["metadata"].get("annotations", {}),
        "its role is run again",
    )
    kubectl("-n", job.namespace, "delete", "pvc", job.claim)
    job.wait("Succeeded")


def test_a_suspended_job_has_its_volume_and_waits(job: Job) -> None:
    job.apply(command=SUCCEEDS, suspend=True)
    job.wait("Pending", "Suspended")
    job.wait_applied()
    assert job.get("pvc", job.claim)
    assert not job.get("pod"), "the role has done all that it does"
    job.apply(suspend=False)
    job.wait("Succeeded")


def test_it_never_runs_twice(job: Job, kubectl: Kubectl) -> None:
    job.apply(command=WAITS, **KEPT)
    job.wait("Running")
    kubectl("-n", job.namespace, "delete", "pod", job.pod, "--grace-period=0", "--force")
    assert "deleted" in job.wait("Failed", "PodDeleted")["message"]
    job.apply(ttlSecondsAfterFinished=60)
    job.wait_applied()
    assert not job.get("pod", job.pod), "the role has run again"


def test_once_started_only_the_times_to_live_change(job: Job, kubectl: Kubectl) -> None:
    job.apply(command=WAITS)
    job.wait("Running")
    job.apply(ttlSecondsAfterFinished=5, pvcTTLSecondsAfterFinished=60)
    with pytest.raises(pytest.fail.Exception, match="started"):
        job.apply(model="mobilenet_v3_small")
    job.wanted.pop("model")
    job.end("succeed")
    job.wait("Succeeded")
    with pytest.raises(pytest.fail.Exception, match="started"):
        job.apply(image="other")
    status = {"status": {"phase": "Succeeded", "finishedAt": "2001-01-01T00:00:00Z"}}
    finished = job.status["finishedAt"]
    patch = ("patch", "eaj", job.name, "-n", job.namespace, "--type=merge", "-p")
    kubectl(*patch, json.dumps(status))
    assert job.status["finishedAt"] == finished, "status is a resource of its own"


def test_what_goes_in_any_phase_leaves_its_volume_and_nothing_else(job: Job) -> None:
    def make(name: str, **spec: object) -> Job:
        made = job.beside(name)
        made.apply(**{"command": SUCCEEDS} | spec)
        return made

    pending = job.beside("pending")
    pending.image = NO_IMAGE
    pending.apply(command=SUCCEEDS)
    started = [
        make("running", command=WAITS),
        make("succeeded", **KEPT),
        make("failed", command=FAILS, **KEPT),
    ]
    pending.wait("Pending", "ImagePullFailed")
    for one in started:
        one.wait(one.name.capitalize())
    for one in (pending, *started):
        one.apply(pvcTTLSecondsAfterFinished=7200)

    def times() -> set[str]:
        return {found["metadata"]["annotations"][PVC_TTL_SECONDS] for found in job.get("pvc")}

    wait_until(lambda: times() == {"7200"}, "their volumes know")
    renamed = [make(f"{one.name}-renamed") for one in (pending, *started)]
    for one, how in zip((pending, *started), ("background", "foreground") * 2, strict=True):
        where = ("-n", one.namespace, f"--cascade={how}", "--timeout=60s")
        one.kubectl("delete", "eaj", one.name, *where)
    for one in renamed:
        one.wait("Succeeded")
        one.kubectl("delete", "eaj", one.name, "-n", one.namespace)

    def left() -> set[str]:
        return {found["metadata"]["name"] for found in job.get(KINDS)} - {"kube-root-ca.crt"}

    claims = {one.claim for one in (pending, *started, *renamed)}
    wait_until(lambda: left() == claims, lambda: f"only volumes are left: {left()}")
    for claim in job.get("pvc"):
        assert "ownerReferences" not in claim["metadata"]
        ttl = claim["metadata"]["annotations"][PVC_TTL_SECONDS]
        assert ttl == ("3600" if claim["metadata"]["name"].endswith("-renamed") else "7200")


def apply_all(jobs: list[Job], **spec: object) -> None:
    """Apply jobs with one request each and one kubectl for all."""
    items = [one.manifest(**spec) for one in jobs]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    jobs[0].kubectl("apply", "--server-side", "-f", "-", input=json.dumps(listed))


def phases(job: Job) -> list[str]:
    """The phases of all jobs in a job's namespace, in order."""
    return sorted(found.get("status", {}).get("phase", "") for found in job.get("eaj"))


def test_jobs_wait_for_devices_and_take_their_turn(job: Job) -> None:
    first = [job.beside(f"first-{number}") for number in range(ROOM)]
    apply_all(first, command=WAITS, resources=SMALL | {"gpu": 1})
    wait_until(lambda: phases(job) == ["Running"] * ROOM, lambda: f"all run: {phases(job)}")
    late = [job.beside("late-1"), job.beside("late-2")]
    apply_all(late, command=SUCCEEDS, resources=SMALL | {"gpu": 1})
    for one in late:
        assert GPUS in one.wait("Pending", "Unschedulable")["message"]
    first[0].end("succeed")
    for one in (first[0], *late):
        one.wait("Succeeded")
    assert phases(job).count("Running") == ROOM - 1


def test_many_at_once_all_finish(job: Job) -> None:
    apply_all(
        [job.beside(f"job-{number}") for number in range(MANY)],
        command=SUCCEEDS,
        pvcTTLSecondsAfterFinished=0,
    )
    wait_while_fewer(lambda: MANY - phases(job).count("Succeeded"), "jobs have not succeeded")
    assert len(phases(job)) == MANY
    wait_while_fewer(lambda: len(job.get("pod,pvc")), "pods and volumes are left")


def wait_while_fewer(count: Callable[[], int], what: str) -> None:
    """Wait until there are none, for as long as they become fewer."""
    left = count()
    while left:
        before = left
        wait_until(lambda: count() < before, f"{before} {what}")  # noqa: B023 - at once
        left = count()
