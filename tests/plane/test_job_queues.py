"""Jobs in a team's queue: what the role makes of them, and the observer of Kueue's reports.

Kueue's kinds exist without Kueue: a policy gates pods as its webhook does, and tests report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.jobs import SMALL, Thing
from support.kueue import GATE, create_workload, gating, kueue_kinds, report
from support.queued_jobs import FIRST, Place, a_place
from support.servers import wait_until
from support.tenants import Tenants, job

from devctl.api.queues import PRIORITY_CLASS, QUEUE_NAME, local_queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.jobs import Job

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed", "enforced")

SHORT = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor %s"


@pytest.fixture(scope="module")
def kueue(kubectl: Kubectl) -> Iterator[None]:
    with kueue_kinds(kubectl, "workloads"):
        yield


@pytest.fixture
def place(kubectl: Kubectl, images: dict[str, Image]) -> Iterator[Place]:
    with a_place(kubectl, images["base"].reference) as found:
        yield found


def test_only_a_job_with_a_flavor_is_queued(place: Place) -> None:
    queued, plain = place.job(), place.job("plain")
    queued.apply()
    spec = queued.get("eaj", "scan")[0]["spec"]
    assert (spec["team"], spec["priority"]) == (place.name, "normal")
    labels = place.pod(queued)["metadata"]["labels"]
    assert labels[QUEUE_NAME] == local_queue(place.name)
    assert labels[PRIORITY_CLASS] == "devctl-normal"
    del plain.wanted["flavor"]
    plain.apply()
    found = place.pod(plain)["metadata"]
    assert not any("kueue" in key for key in [*found["labels"], *found["annotations"]])
    # Without Kueue, nothing waits.
    queued.wait("Running")
    plain.wait("Running")
    with pytest.raises(pytest.fail.Exception, match="the spec of a started job cannot change"):
        queued.apply(flavor="other")


def test_what_its_queue_would_never_admit_is_refused(place: Place) -> None:
    large = place.job(resources=SMALL | {"cpu": "2"})
    large.apply()
    place.wait(large, "Invalid", f"team `{place.name}` can have 40m at most")
    assert not large.get("pod", large.pod)
    large.apply(resources=SMALL)
    place.pod(large)


def test_team_and_priority_of_a_job_are_the_administrators_decision(place: Place) -> None:
    space = Tenants(place.kubectl, place.namespace)
    wanted: list[tuple[Thing, str]] = [
        ({"team": "maps"}, f"spec.team must be `{place.name}`"),
        ({"priority": "high"}, "spec.priority `high` is above yours"),
    ]
    for spec, told in wanted:
        assert told in space.refused(place.member, job(owner=place.member, **spec))
    space.create(place.member, job(owner=place.member, priority="low"))


@pytest.mark.usefixtures("kueue")
def test_a_job_waits_for_its_quota_and_runs(place: Place, kubectl: Kubectl) -> None:
    waiting = place.job()
    with gating(kubectl, place.namespace):
        waiting.apply()
        pod = place.pod(waiting)
    assert pod["spec"]["schedulingGates"] == [{"name": GATE}]
    where = f"waiting in the queue of team `{place.name}` for flavor `{place.name}`: "
    place.wait(waiting, "Queued", f"{where}Kueue has not answered yet")
    create_workload(kubectl, {"apiVersion": "v1", "kind": "Pod"} | pod)
    place.wait(waiting, "Queued", f"{where}its turn has not come yet")
    short = f"{SHORT % place.name}, 20m more needed"
    report(
        kubectl,
        place.namespace,
        waiting.pod,
        "Pod",
        QuotaReserved=("False", "Pending", short, FIRST),
    )
    place.wait(waiting, "Queued", f"{where}not enough quota is free: it needs 20m more cpu")
    assert waiting.phase == "Pending"
    place.admit(waiting)
    waiting.wait("Running")
    waiting.end()
    waiting.wait("Succeeded")
    # Kueue is down: the pod stays until it has released it, and another job waits for that.
    wait_until(
        lambda: "deletionTimestamp" in waiting.get("pod", waiting.pod)[0]["metadata"], "it expires"
    )
    kubectl.api.delete("eaj", waiting.name, place.namespace)
    again = place.job()
    again.apply()
    place.wait(again, "Deleting", "which Kueue has to release")
    place.release(waiting)
    again.wait("Running")


def told_of(job: Job, reason: str) -> int:
    """How many Events tell of a job, with a reason."""
    found = [event for event in job.get("event") if event["reason"] == reason]
    return sum(event["involvedObject"]["name"] == job.name for event in found)


@pytest.mark.usefixtures("kueue")
def test_a_preempted_job_has_failed_and_keeps_its_volume(place: Place, kubectl: Kubectl) -> None:
    low, early = place.job(), place.job("early")
    with gating(kubectl, place.namespace):
        for each in (low, early):
            each.apply()
            create_workload(kubectl, {"apiVersion": "v1", "kind": "Pod"} | place.pod(each))
    place.admit(low)
    low.wait("Running")
    for each in (low, early):
        place.stop(each)
        status = each.wait("Failed", "Preempted")
        assert "a server or job with a higher priority needed its quota" in status["message"]
        assert "its volume is kept" in status["message"]
        assert "exitCode" not in status
        each.wait_gone("pod", each.pod)
        assert each.condition("ArtifactsExpired")["reason"] == "Kept"
        # No run of its role makes another pod.
        each.apply(pvcTTLSecondsAfterFinished=7200)
        each.wait_applied()
        assert not each.get("pod", each.pod)
        assert each.get("pvc", each.claim)
        wait_until(lambda it=each: told_of(it, "Preempted") == 1, "an Event tells of it")  # type: ignore[misc]
