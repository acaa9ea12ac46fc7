"""How a job of a team waits in the queue of a flavor."""

from __future__ import annotations

from typing import Any

import pytest
from apply.errors import ApplyError
from ephemeral_acceleration_job.pod import made_from
from unit.plugins.jobs import decided, job, pod
from unit.plugins.templates import rendered

Thing = dict[str, Any]
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
GPU = "nvidia.com/gpu"
LARGE = {"cpu": "4", "memory": "16Gi", GPU: 1}


def flavor(
    requests: Thing | None = None, name: str = "large", limits: Thing | None = None
) -> Thing:
    resources = {"requests": requests or LARGE, "limits": {GPU: 1} | (limits or {})}
    return {"metadata": {"name": name, "generation": 1}, "spec": {"resources": resources}}


def team(pods: int = 2, **quota: Any) -> Thing:
    quotas = [{"name": "large", "pods": pods, **quota}]
    return {"metadata": {"name": "vision"}, "spec": {"flavors": quotas}}


def queued(status: Thing | None = None, **spec: Any) -> Thing:
    return job(status, **{"flavor": "large", "team": "vision"} | spec)


def plan(wanted: Thing, before: Thing | None = None, large: Thing | None = None) -> Any:
    pods = [before] if before else []
    return decided(wanted, pods, flavors=[large or flavor()], teams=[team()])


def manifest(wanted: Thing, large: Thing | None = None) -> Thing:
    """The pod that a run creates."""
    things = rendered("ephemeral_acceleration_job", plan(wanted, large=large).names)
    return next(thing for thing in things if thing["kind"] == "Pod")


def test_a_job_of_a_team_with_a_flavor_is_in_its_queue() -> None:
    labels = manifest(queued())["metadata"]["labels"]
    assert (labels[QUEUE], labels[PRIORITY]) == ("devctl-large", "devctl-normal")
    assert labels["app"] == "gpu-job"
    high = manifest(queued(priority="high"))["metadata"]["labels"]
    assert high[PRIORITY] == "devctl-high"


@pytest.mark.parametrize(
    "spec", [{"flavor": "large"}, {"team": "vision"}, {"team": "vision", "priority": "high"}]
)
def test_without_flavor_or_team_nothing_changes(spec: Thing) -> None:
    assert manifest(job(**spec)) == manifest(job())
    assert made_from(job(**spec)) == made_from(job())


def test_the_digest_of_a_job_outside_of_queues_is_that_of_earlier_releases() -> None:
    assert made_from(job()) == "348cea6e8bd6b3e7e73ff70f1bcffa43"


def test_a_job_requests_what_its_spec_says() -> None:
    resources = manifest(queued())["spec"]["containers"][0]["resources"]
    assert resources == {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"memory": "1Gi", GPU: "1"},
    }


def test_what_its_spec_cannot_say_is_as_in_the_flavor() -> None:
    """Kueue would count nothing of it, and the pod would run without its device."""
    device = {"amd.com/gpu": 2}
    other = flavor(LARGE | device | {"ephemeral-storage": "10Gi"}, limits=device)
    resources = manifest(queued(), other)["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {
        "cpu": "500m",
        "memory": "1Gi",
        "amd.com/gpu": "2",
        "ephemeral-storage": "10Gi",
    }
    assert resources["limits"] == {"memory": "1Gi", GPU: "1", "amd.com/gpu": "2"}
    assert made_from(queued(), [other]) != made_from(queued(), [flavor()])


@pytest.mark.parametrize("changes", [{"flavor": "small"}, {"priority": "low"}, {"team": ""}])
def test_a_waiting_job_that_changes_its_queue_gets_another_pod(changes: Thing) -> None:
    before = pod(made=made_from(queued(), [flavor()]))
    assert plan(queued(), before).remove == []
    assert plan(queued(**changes), before).remove == [before]


def test_a_pod_that_has_started_stays_whatever_becomes_of_its_queue() -> None:
    started = {"phase": "Running", "startedAt": "t1"}
    before = pod(made=made_from(queued(), [flavor()]))
    gone = decided(queued(started), [before])
    assert gone.remove == []
    assert gone.names["pod"] is None


@pytest.mark.parametrize(
    ("wanted", "large", "told"),
    [
        (queued(flavor="huge"), flavor(), "flavor `huge` does not exist; set spec.flavor to one"),
        (queued(team="maps"), flavor(), "team `maps` does not exist"),
        (queued(flavor="other"), flavor(name="other"), "team `vision` has no quota of flavor"),
        (
            queued(resources={"gpu": 3, "cpu": 1, "memory": "1Gi"}),
            flavor(),
            "requests 3 nvidia.com/gpu, and team `vision` can have 2 at most of flavor `large`",
        ),
        (
            queued(resources={"gpu": 1, "cpu": 1, "memory": "33Gi"}),
            flavor(),
            "requests 33Gi memory, and team `vision` can have 32Gi at most",
        ),
        (
            queued(),
            {"metadata": {"name": "large"}, "spec": {"resources": {"requests": {"cpu": 1}}}},
            "flavor `large` has no memory, which every job requests",
        ),
        (
            queued(),
            {
                "metadata": {"name": "large"},
                "spec": {"resources": {"requests": {"cpu": 1, "memory": "2Gi"}}},
            },
            "has no nvidia.com/gpu: set spec.resources.gpu to 0",
        ),
    ],
)
def test_a_job_that_its_queue_would_never_admit_is_refused(
    wanted: Thing, large: Thing, told: str
) -> None:
    """It would block a queue that is strictly ordered."""
    with pytest.raises(ApplyError, match=told) as caught:
        plan(wanted, large=large)
    assert caught.value.reason == "Invalid"


def test_what_can_be_borrowed_counts() -> None:
    wanted = queued(resources={"gpu": 3, "cpu": 1, "memory": "1Gi"})
    lender = {"metadata": {"name": "maps"}, "spec": {"flavors": [{"name": "large", "pods": 4}]}}
    decided(wanted, flavors=[flavor()], teams=[team(), lender])
    with pytest.raises(ApplyError, match="can have 2 at most"):
        decided(wanted, flavors=[flavor()], teams=[team(borrow=0), lender])
