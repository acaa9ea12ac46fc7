"""The steps of a GPUWorkload: attempts, their ends, retries, and what is kept of them."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_observer.kinds.gpu_workload.endings import UNCOUNTED
from devctl_observer.kinds.gpu_workload.placement import Choice
from devctl_observer.watching.store import Key
from devctl_observer.watching.workloads import Owner, Queued

from unit.observer.gpu_workload.things import (
    CHOSEN,
    RUNNING,
    SCHEDULING,
    at,
    disrupted,
    exited,
    job,
    pod,
    seen,
    status_of,
    told,
    workload,
)
from unit.observer.objects import warning

NOTHING = Choice(problem="no node has a free GPU for it")
FAILED = {"job": job(ended="Failed", reason="BackoffLimitExceeded")}


def never() -> Choice:
    raise AssertionError("no choice is due")


def failed(status: str = "Failed", state: dict[str, Any] | None = None, **changes: Any) -> Any:
    """The status after a running attempt whose pod has failed."""
    its = pod(status, state=state or exited(7, "boom"), **changes)
    return status_of(seen(workload(RUNNING), **FAILED, pod=its), choose=never)


def test_a_new_workload_gets_a_node_and_its_first_attempt() -> None:
    status = status_of(seen())
    assert told(status) == ("Scheduling", "Scheduling")
    assert (status["attempt"], status["retryCount"]) == (1, 0)
    assert (status["assignedNode"], status["lastScheduleTime"]) == ("n1", at(0))
    assert status["considered"] == CHOSEN.considered
    assert "jobName" not in status


def test_a_chosen_node_is_not_chosen_again() -> None:
    status = status_of(seen(workload(status_of(seen()))), 30, never)
    assert (status["attempt"], status["assignedNode"]) == (1, "n1")
    status = status_of(seen(workload(status), job=job()), 30, never)
    assert told(status) == ("Scheduling", "Creating")
    assert status["jobName"] == "one-1"


@pytest.mark.parametrize(
    ("its", "phase", "node"),
    [
        (pod("Pending", node=None), "Scheduling", "n1"),
        (pod("Pending", node="n2", state={"waiting": {}}), "Scheduled", "n2"),
        (pod(node="n2"), "Running", "n2"),
    ],
)
def test_the_phase_follows_the_pod_and_the_node_is_its_own(its: Any, phase: str, node: str) -> None:
    status = status_of(seen(workload(SCHEDULING), job=job(), pod=its), choose=never)
    assert (status["phase"], status["assignedNode"]) == (phase, node)


def test_success_is_final() -> None:
    done = seen(workload(RUNNING), job=job(ended="Complete"), pod=pod("Succeeded", state=exited(0)))
    status = status_of(done, choose=never)
    assert told(status) == ("Succeeded", "Completed")
    assert (status["startedAt"], status["finishedAt"]) == (at(-10), at(-5))
    assert status["exitCode"] == 0
    (succeeded,) = status["conditions"]
    assert succeeded["status"] == "True"
    # Nothing that happens later counts.
    later = status_of(seen(workload(status)), 3600, never)
    assert {**later, "conditions": 0} == {**status, "conditions": 0}


@pytest.mark.parametrize(
    ("changes", "reason", "message"),
    [
        ({"state": exited(7, "first\nit is broken")}, "NonZeroExit", "exit code 7: first | it is"),
        ({"state": exited(137, reason="OOMKilled")}, "OutOfMemory", "spec.resources.memory"),
        ({"state": exited(128, "no such file", "StartError")}, "StartFailed", "no such file"),
        ({"conditions": [disrupted("DeletionByTaintManager")]}, "NodeLost", "node `n1` was lost"),
        ({"reason": "NodeShutdown"}, "NodeLost", "node `n1` was lost"),
        ({"reason": "Evicted", "message": "low on disk"}, "NodePressure", "low on disk"),
        ({"conditions": [disrupted("TerminationByKubelet")]}, "NodePressure", "has ended the pod"),
        ({"state": {"waiting": {}}, "reason": "UnexpectedAdmissionError"}, "PodRejected", "Unexp"),
        (
            {"meta": {"deletionTimestamp": at(0), "deletionGracePeriodSeconds": 30}},
            "PodDeleted",
            "was deleted",
        ),
    ],
)
def test_failures_are_told_apart_and_each_counts_a_retry(
    changes: dict[str, Any], reason: str, message: str
) -> None:
    status = failed(**changes)
    assert told(status) == ("Pending", reason)
    assert message in status["message"]
    assert "; retry 1 of 3 at " in status["message"]
    assert (status["attempt"], status["retryCount"]) == (1, 1)
    assert {"jobName", "assignedNode", "startedAt"}.isdisjoint(status)


def test_the_last_failure_is_final_and_has_the_last_lines() -> None:
    ended = seen(
        workload(RUNNING | {"retryCount": 3}), **FAILED, pod=pod("Failed", state=exited(7, "boom"))
    )
    status = status_of(ended, choose=never)
    assert told(status) == ("Failed", "NonZeroExit")
    assert status["message"] == "exit code 7: boom (after 3 retries)"
    assert (status["retryCount"], status["exitCode"]) == (3, 7)
    assert (status["finishedAt"], status["jobName"]) == (at(-5), "one-1")


def test_a_retry_waits_for_its_time_and_is_counted_once() -> None:
    status = failed()
    first = status["nextRetryAt"]
    assert at(30) <= first <= at(34)
    # The failed Job is still there; a restart changes nothing.
    for seconds in (1, 29):
        status = status_of(seen(workload(status), **FAILED), seconds, never)
        assert (status["retryCount"], status["nextRetryAt"]) == (1, first)
    again = status_of(seen(workload(status), **FAILED), 40)
    assert told(again) == ("Scheduling", "Scheduling")
    assert (again["attempt"], again["retryCount"]) == (2, 1)
    assert "nextRetryAt" not in again


def test_no_suitable_node_counts_retries_until_it_has_failed() -> None:
    item, seconds, counts = workload(retryPolicy={"maxRetries": 2, "backoffSeconds": 1}), 0.0, []
    while not item.finished:
        status = status_of(seen(item), seconds, NOTHING)
        counts.append(status["retryCount"])
        item = workload(status, retryPolicy={"maxRetries": 2, "backoffSeconds": 1})
        seconds += 10
    assert counts == [1, 2, 2]
    assert told(item.status) == ("Failed", "NoSuitableNode")
    assert item.status["message"] == f"{NOTHING.problem} (after 2 retries)"
    assert item.attempt == 0


def test_what_is_promised_to_others_counts_no_retry() -> None:
    status = status_of(seen(), choose=Choice(contested=True))
    assert told(status) == ("Pending", "Contested")
    assert status["retryCount"] == 0
    assert told(status_of(seen(workload(status)))) == ("Scheduling", "Scheduling")


@pytest.mark.parametrize(
    ("mark", "reason"),
    [("PreemptionByScheduler", "Preempted"), ("EvictionByEvictionAPI", "Evicted")],
)
def test_what_is_ended_for_others_goes_back_without_a_retry(mark: str, reason: str) -> None:
    going = pod(conditions=[disrupted(mark)], meta={"deletionTimestamp": at(30)})
    running = seen(workload(RUNNING), job=job(), pod=going, preemptor="big")
    status = status_of(running, choose=never)
    assert told(status) == ("Running", reason)
    if reason == "Preempted":
        assert "preempted by GPUWorkload `big`" in status["message"]
    # Its pod is gone with its mark: what was recorded counts.
    status = status_of(seen(workload(status), **FAILED), 40, never)
    assert told(status) == ("Pending", reason)
    assert (status["attempt"], status["retryCount"]) == (1, 0)
    # It waits for a node for as long as it takes.
    for seconds in (60, 3600):
        status = status_of(seen(workload(status)), seconds, NOTHING)
        assert told(status) == ("Pending", reason)
        assert status["retryCount"] == 0
    again = status_of(seen(workload(status)), 3700)
    assert (again["attempt"], again["retryCount"]) == (2, 0)


def test_a_preemption_that_nobody_has_seen_is_known_from_the_job() -> None:
    policy = {"job": job(ended="Failed", reason="PodFailurePolicy")}
    status = status_of(seen(workload(RUNNING), **policy), choose=never)
    assert told(status) == ("Pending", "Preempted")
    assert status["retryCount"] == 0
    gone = seen(workload(RUNNING), **policy, nodes=frozenset({"n2"}))
    assert told(status_of(gone, choose=never)) == ("Pending", "NodeLost")
    last = pod("Failed", state=exited(7), conditions=[disrupted("DeletionByTaintManager")])
    known = status_of(seen(workload(RUNNING), **policy, last=last), choose=never)
    assert told(known) == ("Pending", "NodeLost")


def test_a_program_that_succeeds_while_it_is_preempted_has_succeeded() -> None:
    marked = workload(RUNNING | {"reason": "Preempted", "message": "preempted"})
    done = seen(marked, job=job(ended="Complete"), pod=pod("Succeeded", state=exited(0)))
    assert told(status_of(done, choose=never)) == ("Succeeded", "Completed")


def test_a_lost_node_ends_the_attempt_once_its_pod_should_be_gone() -> None:
    going = pod(meta={"deletionTimestamp": at(30)})
    lost = {"job": job(), "pod": going, "nodes": frozenset({"n2"})}
    status = status_of(seen(workload(RUNNING), **lost), choose=never)
    assert told(status) == ("Running", "NodeNotReady")
    status = status_of(seen(workload(RUNNING), **lost), 31, never)
    assert told(status) == ("Pending", "NodeLost")
    assert status["retryCount"] == 1


def test_a_pod_that_cannot_start_ends_the_attempt_after_a_while() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}
    its = pod("Pending", state=waiting)
    status = status_of(seen(workload(SCHEDULING), job=job(), pod=its), 60, never)
    assert told(status) == ("Scheduled", "ImagePullFailed")
    status = status_of(seen(workload(SCHEDULING), job=job(), pod=its), 101, never)
    assert told(status) == ("Pending", "ImagePullFailed")
    assert status["retryCount"] == 1


def test_a_pod_without_a_node_ends_the_attempt_after_a_while() -> None:
    full = {"reason": "Unschedulable", "message": "0/2 nodes: 2 Insufficient nvidia.com/gpu."}
    its = pod("Pending", node=None, scheduled=full)
    status = status_of(seen(workload(SCHEDULING), job=job(), pod=its), 200, never)
    assert told(status) == ("Scheduling", "Unschedulable")
    assert "spec.gpuCount" in status["message"]
    status = status_of(seen(workload(SCHEDULING), job=job(), pod=its), 281, never)
    assert told(status) == ("Pending", "Unschedulable")


def test_a_job_that_was_seen_and_is_gone_is_a_failure() -> None:
    status = status_of(seen(workload(RUNNING)), choose=never)
    assert told(status) == ("Pending", "JobDeleted")
    assert status["retryCount"] == 1


def test_a_timeout_has_no_retry() -> None:
    late = seen(workload(RUNNING), job=job(ended="Failed", reason="DeadlineExceeded"))
    status = status_of(late, choose=never)
    assert told(status) == ("Failed", "DeadlineExceeded")
    assert status["retryCount"] == 0


def test_a_role_that_cannot_create_the_job_says_why() -> None:
    refused = {
        "type": "Applied",
        "status": "False",
        "observedGeneration": 1,
        "reason": "QuotaExceeded",
        "message": "exceeded quota",
    }
    status = status_of(seen(workload(SCHEDULING | {"conditions": [refused]})), choose=never)
    assert told(status) == ("Scheduling", "QuotaExceeded")
    assert status["message"] == "exceeded quota"


def test_a_pod_that_is_refused_is_reported() -> None:
    event = warning("Job", "one-1", "FailedCreate", "exceeded quota: gpus")
    around = seen().around.__class__(warnings=(event,))
    status = status_of(seen(workload(SCHEDULING), job=job(), around=around), choose=never)
    assert told(status) == ("Scheduling", "PodRefused")
    assert "exceeded quota: gpus" in status["message"]


def test_an_unknown_strategy_fails_until_it_is_changed() -> None:
    unknown = Choice(problem="strategy `x` is not installed", unknown=True)
    status = status_of(seen(), choose=unknown)
    assert told(status) == ("Failed", "UnknownStrategy")
    assert told(status_of(seen(workload(status)))) == ("Scheduling", "Scheduling")


def test_a_stopped_workload_starts_another_attempt_without_a_retry() -> None:
    stopped = seen(workload(RUNNING, stopped=True), job=job(), pod=pod())
    status = status_of(stopped, choose=never)
    assert told(status) == ("Pending", "Stopped")
    assert "jobName" not in status
    assert told(status_of(seen(workload(status, stopped=True)), 60, never))[1] == "Stopped"
    again = status_of(seen(workload(status), job=job()))
    assert (again["attempt"], again["retryCount"]) == (2, 0)
    done = seen(workload(RUNNING, stopped=True), job=job(ended="Complete"))
    assert status_of(done, choose=never)["phase"] == "Succeeded"


def queued(**of: Any) -> Queued:
    return Queued(Owner("Job", Key("team", "one-1")), "j-1", "gpus", **of)


def test_in_a_queue_it_waits_for_quota_and_not_for_a_node() -> None:
    status = status_of(seen(workload(queueName="gpus")), choose=NOTHING)
    assert told(status) == ("Scheduling", "Scheduling")
    assert (status["attempt"], status["retryCount"]) == (1, 0)
    assert "assignedNode" not in status
    held = {"job": job(suspend=True)}
    status = status_of(seen(workload(status, queueName="gpus"), **held), choose=never)
    assert told(status) == ("Pending", "Queued")
    assert "Kueue has not answered" in status["message"]
    short = queued(waits="insufficient unused quota for cpu in flavor small, 1 more needed")
    status = status_of(seen(workload(status), **held, queued=short), choose=never)
    assert "it needs 1 more cpu" in status["message"]
    assert status["jobName"] == "one-1"


def test_what_kueue_preempts_is_in_the_queue_again_in_the_same_attempt() -> None:
    report = queued(preempted="InClusterQueue", preempted_at=at(0))
    held = {"job": job(suspend=True), "queued": report}
    status = status_of(seen(workload(RUNNING), **held), choose=never)
    assert told(status) == ("Pending", "Preempted")
    assert "a higher priority needed its quota; it is in queue `gpus` again" in status["message"]
    assert (status["attempt"], status["retryCount"]) == (1, 0)
    assert "assignedNode" not in status
    status = status_of(seen(workload(RUNNING), **held, preemptor="big"), choose=never)
    assert status["message"].startswith("preempted by GPUWorkload `big`")
    again = status_of(seen(workload(status), job=job(), pod=pod()), 60, never)
    assert told(again) == ("Running", "Running")
    assert again["attempt"] == 1


def test_jobs_expire_only_by_both_clocks() -> None:
    ended = RUNNING | {"phase": "Succeeded", "reason": "Completed", "finishedAt": at(0)}
    item = workload(ended, ttlSecondsAfterFinished=100)

    def expired(status: dict[str, Any]) -> str:
        return str({c["type"]: c["status"] for c in status["conditions"]}["JobsExpired"])

    assert expired(status_of(seen(item), 50, never, theirs=50)) == "False"
    assert expired(status_of(seen(item), 200, never)) == "False"
    assert expired(status_of(seen(item), 200, never, theirs=50)) == "False"
    status = status_of(seen(item), 200, never, theirs=200)
    assert expired(status) == "True"
    # And they stay expired.
    assert expired(status_of(seen(workload(status, ttlSecondsAfterFinished=900)), 201)) == "True"
    forever = status_of(seen(workload(ended)), 10**8, never, theirs=10**8)
    assert [c["type"] for c in forever["conditions"]] == ["Succeeded"]


def test_one_that_is_deleted_makes_no_step() -> None:
    going = workload(RUNNING, meta={"deletionTimestamp": at(0)})
    status = status_of(seen(going), choose=never)
    assert told(status) == ("Running", "Deleting")
    assert "Preempted" in UNCOUNTED
