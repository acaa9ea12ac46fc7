"""Why a job has not started, or its state while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer.kinds.jobs.status import job_status
from hypothesis import given
from hypothesis import strategies as st

from unit.observer.jobs.things import (
    applied,
    at,
    claim,
    clocks,
    job,
    observed,
    pod,
    unscheduled,
    waits,
)
from unit.observer.objects import warning

if TYPE_CHECKING:
    from lightkube.resources.core_v1 import Pod

GOING = {"deletionTimestamp": at(20)}
FOREIGN = {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "other"}]}


def pending(**changes: Any) -> Pod:
    return pod("Pending", **changes)


@pytest.mark.parametrize(
    ("seen", "reason", "said"),
    [
        (observed(), "NotApplied", "the operator is about to create its pod"),
        (observed(job(applied())), "NotApplied", "about to create"),
        (observed(job(suspend=True)), "Suspended", "`egpu create my-job`"),
        (
            observed(job(applied("False", reason="Conflict", message="a claim is there"))),
            *("Conflict", "a claim is there"),
        ),
        (observed(job(applied("False"), suspend=True)), "ApplyFailed", "it cannot be created"),
        (observed(job(applied("False", 7))), "NotApplied", "about to create"),
        (observed(job(meta=GOING)), "Deleting", "the job is being deleted"),
        (observed(job(), pod(meta=FOREIGN)), "Deleting", "of an earlier job to end"),
        (observed(job(), pending(meta=GOING, **waits("x"))), "Deleting", "creates another one"),
        (observed(job(), pending(**waits("x")), ready="False"), "NodeNotReady", "node `node-a`"),
        (
            observed(job(), pending(meta=GOING, **waits("x")), ready="Unknown"),
            *("NodeNotReady", "if this persists, the job fails"),
        ),
        (
            observed(job(), pending(**waits("ContainerCreating"))),
            "Creating",
            "its container is starting",
        ),
        (observed(job(), pending(**waits("ErrImagePull", "not found"))), "ImagePullFailed", "`i`"),
        (
            observed(job(), pending(**waits("ImagePullBackOff", "x"))),
            *("ImagePullFailed", "its registry can be reached"),
        ),
        (
            observed(job(), pending(**waits("CreateContainerConfigError", "no secret"))),
            *("ConfigError", "no secret"),
        ),
        (
            observed(job(), pending(**waits("CreateContainerError", "no such user"))),
            *("StartFailed", "no such user"),
        ),
        (
            observed(
                job(),
                pending(**waits("ContainerCreating")),
                warnings=(
                    warning("Pod", "ephemeralaccelerationjob-my-job", "FailedMount", "no disk"),
                ),
            ),
            *("MountFailed", "no disk"),
        ),
        (
            observed(
                job(),
                pending(**waits("ContainerCreating")),
                warnings=(
                    warning(
                        *("Pod", "ephemeralaccelerationjob-my-job"),
                        *("FailedCreatePodSandBox", "no net"),
                    ),
                ),
            ),
            *("Creating", "no net"),
        ),
        (
            observed(
                job(),
                unscheduled(
                    "Unschedulable", "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
                ),
            ),
            *(
                "Unschedulable",
                "`nvidia.com/gpu`; wait until others stop, or request less in spec.re",
            ),
        ),
        (
            observed(
                job(), unscheduled("Unschedulable", "1 node(s) had untolerated taint {a: b}.")
            ),
            *("Unschedulable", "no available node fits the job; request less in"),
        ),
        (
            observed(
                job(), unscheduled("Unschedulable", "1 node(s) had volume node affinity conflict")
            ),
            *("Unschedulable", "no node that can reach its volume"),
        ),
        (
            observed(
                job(), unscheduled("Unschedulable", 'persistentvolumeclaim "artifacts-x" not found')
            ),
            *("VolumePending", "claim `artifacts-x` does not exist yet; it is about to be created"),
        ),
        (
            observed(
                job(),
                unscheduled("Unschedulable", "pod has unbound immediate PersistentVolumeClaims."),
                claim("Pending"),
            ),
            *("VolumePending", "claim `artifacts-my-job` (storage class `longhorn`) has no volume"),
        ),
        (observed(job(), unscheduled("x", "y"), claim("Lost")), "VolumeLost", "is lost"),
        (
            observed(job(), unscheduled("SchedulingGated", "")),
            "Queued",
            "queued until there is quota for it",
        ),
    ],
)
def test_a_job_that_waits_says_for_what(seen: Any, reason: str, said: str) -> None:
    found = job_status(seen, clocks(0, None))
    assert (found["phase"], found["reason"]) == ("Pending", reason)
    assert said in found["message"]
    (succeeded,) = found["conditions"]
    assert (succeeded["type"], succeeded["status"]) == ("Succeeded", "Unknown")
    assert succeeded["reason"] == reason
    assert not {"startedAt", "finishedAt", "artifactPath", "exitCode"} & set(found)
    assert ("podName" in found) == (seen.pod is not None)


def test_a_pod_that_nobody_has_looked_at() -> None:
    fresh = pod("Pending", containerStatuses=[])
    assert fresh.status
    fresh.status.conditions = None
    assert job_status(observed(job(), fresh), clocks())["reason"] == "Scheduling"


STARTED = {"startedAt": at(-10), "phase": "Running"}


@pytest.mark.parametrize(
    ("seen", "reason", "said"),
    [
        (observed(job(), pod()), "Running", "on node `node-a`"),
        (observed(job(), pod(), ready="Unknown"), "NodeNotReady", "`node-a` is not ready"),
        (observed(job(), pod(meta=GOING)), "Ending", "its pod is being deleted on node `node-a`"),
        (observed(job(STARTED, meta=GOING), pod()), "Ending", "the job is being deleted"),
        (observed(job(STARTED, meta=GOING)), "Ending", "the job is being deleted"),
        # An outdated pod status does not revert the phase.
        (observed(job(STARTED), pending(**waits("ContainerCreating"))), "Running", "on node"),
    ],
)
def test_a_job_that_runs(seen: Any, reason: str, said: str) -> None:
    found = job_status(seen, clocks(0, None))
    assert (found["phase"], found["reason"]) == ("Running", reason)
    assert said in found["message"]
    assert found["startedAt"] == at(-10)


def test_a_job_that_ended_says_so_for_ever() -> None:
    status = {
        "phase": "Failed",
        "reason": "NonZeroExit",
        "message": "exit code 3",
        "startedAt": at(-10),
        "finishedAt": at(-5),
        "podName": "p",
        "exitCode": 3,
    }
    whatever: list[Any] = [None, pod(), pod("Succeeded"), pod("Pending"), pod(meta=FOREIGN)]
    for its_pod in whatever:
        found = job_status(observed(job(status), its_pod, claim()), clocks(10**6, 10**6))
        assert status.items() <= found.items()


@given(st.text(max_size=3000), st.text(max_size=60))
def test_whatever_the_cluster_says_the_status_is_sound(message: str, reason: str) -> None:
    for seen in (
        observed(job(), unscheduled(reason, message)),
        observed(job(), pending(**waits(reason or "x", message))),
        observed(job(applied("False", reason=reason, message=message))),
    ):
        found = job_status(seen, clocks())
        assert found["phase"] == "Pending"
        assert 0 < len(found["message"]) <= 1024
        assert found["reason"]
