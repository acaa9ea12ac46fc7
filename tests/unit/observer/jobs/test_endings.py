"""How a job ended: pods as in real clusters, and what users read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer.kinds.jobs.endings import DELETED
from devctl_observer.kinds.jobs.status import job_status
from hypothesis import given
from hypothesis import strategies as st

from unit.observer.jobs.things import (
    at,
    clocks,
    container,
    ended,
    job,
    observed,
    pod,
    unscheduled,
    waits,
)
from unit.observer.objects import NOW

if TYPE_CHECKING:
    from lightkube.resources.core_v1 import Pod

STARTED = {"phase": "Running", "reason": "Running", "startedAt": at(-10)}
OOM = "spec.resources.memory"
WORDS = json.dumps({"reason": "WeightsMissing", "message": "no weights"})
GOING = {"deletionTimestamp": at(20), "deletionGracePeriodSeconds": 30}  # requested 10 s ago


def disrupted(reason: str, when: float = -8) -> dict[str, Any]:
    said = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    return {"conditions": [said | {"lastTransitionTime": at(when)}]}


def failed(**changes: Any) -> Pod:
    return pod("Failed", **changes)


@pytest.mark.parametrize(
    ("its_pod", "reason", "said", "code"),
    [
        (
            failed(**ended(7, "a\nit is broken\n")),
            "NonZeroExit",
            "exit code 7: a | it is broken",
            7,
        ),
        (failed(**ended(1)), "NonZeroExit", "exit code 1", 1),
        (failed(**ended(1, WORDS)), "WeightsMissing", "no weights", 1),
        (failed(**ended(1, f"log\n{WORDS}")), "NonZeroExit", "exit code 1: log | {", 1),
        (failed(**ended(137, "", "OOMKilled")), "OutOfMemory", OOM, 137),
        (failed(**ended(137, WORDS, "OOMKilled")), "OutOfMemory", OOM, 137),
        (failed(**ended(128, "exec: x: not found", "StartError")), "StartFailed", "exec: x", 128),
        (failed(reason="DeadlineExceeded", **ended(143)), "DeadlineExceeded", "activeDead", 143),
        (failed(reason="Evicted", message="low on memory", **ended(137)), "Evicted", "low on", 137),
        (failed(reason="Evicted", containerStatuses=[]), "Evicted", "(Evicted)", None),
        (failed(**disrupted("PreemptionByScheduler"), **ended(143)), "Evicted", "Preempt", 143),
        (failed(**disrupted("DeletionByTaintManager"), **ended(143)), "NodeLost", "node-a", None),
        (failed(**disrupted("DeletionByPodGC"), containerStatuses=[]), "NodeLost", "node-a", None),
        (failed(reason="Terminated", message="shutdown", **ended(137)), "NodeLost", "node-a", None),
        # It had failed by itself before the eviction.
        (failed(**disrupted("EvictionByEvictionAPI", -2), **ended(3)), "NonZeroExit", "code 3", 3),
        (failed(meta=GOING, **ended(143)), "PodDeleted", DELETED, None),
        (failed(meta=GOING, **ended(1, WORDS)), "PodDeleted", DELETED, None),
        (failed(meta=GOING, **ended(137, "", "OOMKilled")), "OutOfMemory", OOM, 137),
        # The clock of its node is behind.
        (
            failed(meta=GOING | {"deletionTimestamp": at(29)}, **ended(143)),
            "PodDeleted",
            DELETED,
            None,
        ),
        # It had ended by itself before the deletion.
        (
            failed(meta=GOING | {"deletionTimestamp": at(29)}, **ended(3)),
            *("NonZeroExit", "exit code 3", 3),
        ),
        (
            failed(**ended(137, "", "ContainerStatusUnknown", finishedAt=None)),
            *("NodeLost", "node-a", None),
        ),
        (
            failed(reason="OutOfcpu", message="not enough cpu", containerStatuses=[]),
            *("PodRejected", "(not enough cpu)", None),
        ),
        (failed(containerStatuses=[]), "PodRejected", "(no details given)", None),
        (
            failed(**ended(137, "", "ContainerStatusUnknown", startedAt=None, finishedAt=None)),
            *("PodRejected", "no detail", None),
        ),
        (
            failed(initContainerStatuses=ended(9)["containerStatuses"], containerStatuses=[]),
            *("NonZeroExit", "exit code 9", 9),
        ),
    ],
)
def test_a_failure_says_why(its_pod: Pod, reason: str, said: str, code: int | None) -> None:
    found = job_status(observed(job(), its_pod), clocks())
    assert (found["phase"], found["reason"]) == ("Failed", reason)
    assert said in found["message"]
    assert found.get("exitCode") == code
    succeeded = next(c for c in found["conditions"] if c["type"] == "Succeeded")
    assert (succeeded["status"], succeeded["reason"]) == ("False", reason)
    assert succeeded["message"] == found["message"]


def test_a_success() -> None:
    found = job_status(
        observed(job(output={"path": "/artifacts/o.json"}), pod("Succeeded", **ended(0))), clocks()
    )
    assert (found["phase"], found["reason"]) == ("Succeeded", "Completed")
    assert found["message"] == "Job completed successfully"
    assert (found["startedAt"], found["finishedAt"]) == (at(-10), at(-5))
    assert (found["artifactPath"], found["exitCode"]) == ("/artifacts/o.json", 0)
    assert found["podName"] == "ephemeralaccelerationjob-my-job"
    assert found["podExpiresAt"] == at(-5)
    assert found["artifactsExpireAt"] == at(3595)


def test_a_pod_that_went_before_its_program_ran_is_no_end() -> None:
    """The kubelet reports a failure; the role creates another pod, as for a corrected spec."""
    unknown = {"startedAt": None, "finishedAt": None}
    reported: list[dict[str, Any]] = [
        {"containerStatuses": []},
        ended(137, "", "ContainerStatusUnknown", **unknown),
        {**disrupted("PreemptionByScheduler"), "containerStatuses": []},
    ]
    for statuses in reported:
        found = job_status(observed(job(), failed(meta=GOING, **statuses)), clocks())
        assert (found["phase"], found["reason"]) == ("Pending", "Deleting")
        # If the program is known to have run, that is the end.
        found = job_status(observed(job(STARTED), failed(meta=GOING, **statuses)), clocks())
        assert found["phase"] == "Failed"


@pytest.mark.parametrize(
    ("said", "ready", "reason"),
    [
        ({"nodeName": "node-a"}, "True", "PodDeleted"),
        ({"nodeName": "node-a"}, "Unknown", "NodeLost"),
        ({"nodeName": "gone"}, "True", "NodeLost"),
        ({"nodeName": "node-a", "reason": "NodeNotReady"}, "True", "NodeLost"),
        ({}, "False", "PodDeleted"),
    ],
)
def test_a_pod_that_is_gone(said: dict[str, Any], ready: str, reason: str) -> None:
    started = job(STARTED | said)
    seen = observed(started, ready=ready, listed=True)
    found = job_status(seen, clocks(3, 4))
    assert (found["phase"], found["reason"]) == ("Failed", reason)
    assert found["finishedAt"] == at(4)
    assert found["startedAt"] == at(-10)
    # The cache may lag behind.
    doubtful = job_status(observed(started, ready=ready), clocks())
    assert (doubtful["phase"], doubtful["reason"]) == ("Running", "Ending")


def test_a_node_that_died_ends_the_job_though_its_pod_stays() -> None:
    on_it = pod(meta=GOING | {"deletionTimestamp": at(0)})
    for of in (job(STARTED), job()):
        seen = observed(of, on_it, ready="Unknown", listed=True)
        assert job_status(seen, clocks(-1, 5))["reason"] == "NodeNotReady"
        found = job_status(seen, clocks(0, 0))
        assert (found["phase"], found["reason"]) == ("Failed", "NodeLost")
        assert "node `node-a`" in found["message"]
    assert (
        job_status(observed(job(STARTED), on_it, listed=True), clocks(9, 9))["reason"] == "Ending"
    )


def test_a_node_that_died_before_it_said_anything_ends_the_job_too() -> None:
    """Its program may have run, and a second pod cannot have the same name."""
    on_it = pod("Pending", meta=GOING | {"deletionTimestamp": at(0)}, **waits("ContainerCreating"))
    seen = observed(job(), on_it, ready="Unknown", listed=True)
    assert job_status(seen, clocks(5, -1))["phase"] == "Pending"
    found = job_status(seen, clocks(3, 0))
    assert (found["phase"], found["reason"]) == ("Failed", "NodeLost")
    assert "node `node-a` was lost before it reported" in found["message"]
    assert found["finishedAt"] == at(3)
    assert "startedAt" not in found
    # The cache does not prove that, either.
    doubtful = observed(job(), on_it, ready="Unknown")
    assert job_status(doubtful, clocks(3, 0))["phase"] == "Pending"
    # An unscheduled pod is deleted at once, whatever its grace period.
    nowhere = unscheduled("Unschedulable", "no room")
    assert nowhere.metadata
    nowhere.metadata.deletionTimestamp = NOW
    assert job_status(observed(job(), nowhere, listed=True), clocks(9, 9))["reason"] == "Deleting"


def test_a_pod_that_was_made_after_the_program_ran_is_another_one() -> None:
    again = pod(meta={"creationTimestamp": at(-9)})
    found = job_status(observed(job(STARTED), again, listed=True), clocks())
    assert (found["phase"], found["reason"]) == ("Failed", "PodDeleted")


def test_clocks_that_disagree_record_no_end() -> None:
    seen = observed(job(), pod("Succeeded", **ended(0)))
    for unsure in (clocks(0, None), clocks(0, 61), clocks(61, 0)):
        found = job_status(seen, unsure)
        assert (found["phase"], found["reason"]) == ("Running", "Ending")
        assert "finishedAt" not in found
    assert job_status(seen, clocks(0, 60))["phase"] == "Succeeded"
    refused = observed(job(), failed(containerStatuses=[]))
    assert job_status(refused, clocks(0, None))["phase"] == "Pending"


@pytest.mark.parametrize(
    ("started", "finished", "expected"),
    [
        (-10, -5, (-10, -5)),
        (-10, -15, (-10, -10)),  # not before its start
        (-99, -50, (-20, -20)),  # not before its pod was created
        (900, 999, (4, 4)),  # not in the future of the later clock
        (-10, 999, (-10, 4)),
    ],
)
def test_a_nodes_times_are_kept_within_what_can_be(
    started: float, finished: float, expected: tuple[float, float]
) -> None:
    times = {"startedAt": at(started), "finishedAt": at(finished)}
    found = job_status(observed(job(), pod("Succeeded", **ended(0, **times))), clocks(0, 4))
    assert (found["startedAt"], found["finishedAt"]) == (at(expected[0]), at(expected[1]))


def test_the_first_container_that_failed_counts() -> None:
    two = [container(terminated={"exitCode": code, "finishedAt": at(-5)}) for code in (0, 4)]
    assert job_status(observed(job(), failed(containerStatuses=two)), clocks())["exitCode"] == 4


@given(
    st.text(max_size=2500),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(10**6), 10**6),
    st.integers(-(10**6), 10**6),
)
def test_whatever_a_program_does_the_status_is_sound(
    text: str, code: int, started: int, finished: int
) -> None:
    times = {"startedAt": at(started), "finishedAt": at(finished)}
    found = job_status(observed(job(), failed(**ended(code, text, **times))), clocks(0, 1))
    assert found["phase"] == "Failed"
    assert 0 < len(found["message"]) <= 1024
    assert at(-20) <= found["startedAt"] <= found["finishedAt"] <= at(1)
    json.dumps(found, ensure_ascii=False).encode()
