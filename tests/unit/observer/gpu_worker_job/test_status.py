"""The status of a GPUWorkerJob, at every step of its life."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer.judging.clocks import Clocks
from devctl_observer.kinds.gpu_worker_job.deadlines import next_look, wants_proof
from devctl_observer.kinds.gpu_worker_job.status import job_status
from devctl_observer.kinds.gpu_worker_job.transitions import transitions
from devctl_observer.kinds.gpu_worker_job.wake import cause, missing
from devctl_observer.watching.store import Key
from devctl_observer.watching.workloads import Owner, Queued

from devctl.api.conditions import find
from devctl.api.gpu_worker_job import ENDED, Phase
from unit.observer.gpu_worker_job.things import (
    NAME,
    NAMESPACE,
    OPEN,
    Thing,
    at,
    ended,
    item,
    job,
    node,
    observed,
    pod,
    running,
)
from unit.observer.objects import NOW

if TYPE_CHECKING:
    from devctl_observer.kinds.gpu_worker_job.observed import Observed

GUESS, PROVEN = Clocks(NOW), Clocks(NOW, NOW)
RUNNING: Thing = {
    "phase": "Running",
    "reason": "Running",
    "jobName": NAME,
    "podName": "job-1-u1",
    "node": "a",
    "startedAt": at(-60),
    "runs": [OPEN],
}
OVER = OPEN | {"finishedAt": at(-10), "exitCode": 0}
COMPLETED = RUNNING | {
    "phase": "Completed",
    "reason": "Completed",
    "message": "m",
    "finishedAt": at(-10),
    "exitCode": 0,
    "runs": [OVER],
}
REFUSED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available: 1 Insufficient imagepod.dev/job-slots.",
}
LOST = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "lastTransitionTime": at(-45),
}
GOING = {"deletionTimestamp": at(-5), "deletionGracePeriodSeconds": 30}


def told(seen: Observed, clocks: Clocks = PROVEN) -> Thing:
    return job_status(seen, clocks)


def state(seen: Observed, clocks: Clocks = PROVEN) -> tuple[str, str]:
    found = told(seen, clocks)
    return found["phase"], found["reason"]


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (observed(job=None), ("Pending", "Waiting")),
        (observed(), ("Pending", "Waiting")),
        (observed(None, pod("Pending", node=None)), ("Pending", "Waiting")),
        (
            observed(item(), pod("Pending", node=None, conditions=[REFUSED])),
            ("Pending", "Waiting"),
        ),
        (
            observed(item(gpus=8), pod("Pending", node=None, conditions=[REFUSED])),
            ("Pending", "NoNode"),
        ),
        (
            observed(None, pod("Pending", node=None, conditions=[REFUSED]), nodes=()),
            ("Pending", "NoNode"),
        ),
        (observed(job=job(suspend=True)), ("Pending", "Queued")),
        (
            observed(None, pod("Pending", conditions=[{"type": "PodScheduled", "status": "True"}])),
            ("Scheduled", "Creating"),
        ),
        (observed(None, pod(state=running())), ("Running", "Running")),
        (observed(None, pod(state=running()), nodes=()), ("Running", "NodeNotReady")),
        (observed(None, pod(state=running(), meta=GOING)), ("Running", "Ending")),
    ],
)
def test_the_way_to_its_end(seen: Observed, says: tuple[str, str]) -> None:
    assert state(seen) == says
    assert find({"conditions": told(seen)["conditions"]}, "Succeeded")["status"] == "Unknown"
    assert told(seen)["phase"] not in ENDED


def test_all_that_is_known_of_one_that_runs() -> None:
    found = told(observed(None, pod(state=running())), GUESS)
    del found["conditions"], found["message"]
    assert found == RUNNING | {"observedGeneration": 1}


def test_it_completes() -> None:
    found = told(observed(item(RUNNING), pod("Succeeded", state=ended()), job=job("Complete")))
    assert (found["phase"], found["exitCode"]) == ("Completed", 0)
    assert found["runs"] == [OVER]
    assert (found["startedAt"], found["finishedAt"]) == (at(-60), at(-10))
    assert find(found, "Succeeded")["status"] == "True"


def failed(phase: str = "Failed", **more: Any) -> Observed:
    given = {"state": ended(code=7, message="it broke")} | more
    return observed(item(RUNNING), pod(phase, **given), job=job("Failed"))


@pytest.mark.parametrize(
    ("seen", "reason", "code"),
    [
        (failed(), "NonZeroExit", 7),
        (failed(state=ended(code=137, reason="OOMKilled")), "OutOfMemory", 137),
        (failed(reason="DeadlineExceeded", state=ended(code=137)), "DeadlineExceeded", None),
        (failed(conditions=[LOST]), "NodeLost", None),
        (
            failed(conditions=[LOST | {"reason": "PreemptionByScheduler"}]),
            *("Preempted", None),
        ),
        (failed(conditions=[LOST | {"reason": "EvictionByEvictionAPI"}]), "Evicted", None),
        (failed(meta=GOING, state=ended(until=-1, code=143)), "PodDeleted", None),
        (failed(reason="UnexpectedAdmissionError", state=None), "PodRejected", None),
        (observed(item(RUNNING), job=job("Failed")), "PodDeleted", None),
    ],
)
def test_it_fails_for_a_reason(seen: Observed, reason: str, code: int | None) -> None:
    found = told(seen)
    assert (found["phase"], found["reason"]) == ("Failed", reason)
    assert found.get("exitCode") == code
    assert found["message"]
    assert all("finishedAt" in run for run in found["runs"])
    assert find(found, "Succeeded")["status"] == "False"


def test_an_end_is_told_with_all_runs_or_not_yet() -> None:
    done = observed(item(RUNNING), pod(state=running()), job=job("Complete"))
    assert state(done) == ("Running", "Ending")
    assert state(failed(), GUESS) == ("Running", "Ending")


def test_a_container_that_cannot_start_fails_after_a_while() -> None:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(-60)}
    waits = {"waiting": {"reason": "ErrImagePull", "message": "not found"}}
    seen = observed(None, pod("Pending", state=waits, conditions=[scheduled]))
    assert state(seen) == ("Scheduled", "ImagePullFailed")
    assert next_look(seen, GUESS) == timedelta(seconds=61)
    later = NOW + timedelta(seconds=60)
    assert wants_proof(seen, Clocks(later))
    assert state(seen, Clocks(later, later)) == ("Failed", "ImagePullFailed")
    # Our clock alone may be wrong.
    assert state(seen, Clocks(later, NOW)) == ("Scheduled", "ImagePullFailed")


def test_who_has_never_seen_the_object_is_told_of_none_of_its_fields() -> None:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(-60)}
    pulls = [
        ("ErrImagePull", "not found"),
        ("ErrImagePull", "denied"),
        ("ErrImagePull", "timeout"),
        ("InvalidImageName", ""),
    ]
    for reason, message in pulls:
        waits = {"waiting": {"reason": reason, "message": message}}
        said = told(observed(None, pod("Pending", state=waits, conditions=[scheduled])))
        assert said["reason"] == "ImagePullFailed"
        assert "spec." not in said["message"]
    unstarted = ended(code=128, reason="ContainerCannotRun", message="no such file")
    said = told(observed(item(RUNNING), pod("Failed", state=unstarted), job=job("Failed")))
    assert said["reason"] == "StartFailed"
    assert "spec." not in said["message"]


def test_each_retry_is_a_run() -> None:
    first = OPEN | {"finishedAt": at(-50), "exitCode": 7}
    second = pod(state=running(-20), uid="u2", meta={"creationTimestamp": at(-30)})
    seen = observed(item(RUNNING | {"runs": [first]}), second)
    found = told(seen)
    assert [run["podUID"] for run in found["runs"]] == ["u1", "u2"]
    assert found["podName"] == "job-1-u2"
    assert found["startedAt"] == at(-60)
    assert "finishedAt" not in found


def test_the_pod_of_a_lost_node_ends_the_job_without_retries() -> None:
    lost = pod(state=running(), conditions=[LOST], meta=GOING)
    failing = job("FailureTarget")
    seen = observed(item(RUNNING), lost, job=failing, nodes=(node(ready=False),))
    found = told(seen)
    assert (found["phase"], found["reason"]) == ("Failed", "NodeLost")
    # When the API server was told to delete it.
    assert found["runs"][0]["finishedAt"] == found["finishedAt"] == at(-35)
    # Its kubelet may still confirm it.
    assert state(observed(item(RUNNING), lost, job=failing)) == ("Running", "Ending")


def test_the_pod_of_a_lost_node_ends_its_run_while_the_job_goes_on() -> None:
    lost = pod(state=running(), conditions=[LOST], meta=GOING)
    second = pod("Pending", uid="u2", node=None, meta={"creationTimestamp": at(-5)})
    found = told(observed(item(RUNNING), lost, second, nodes=(node(ready=False),)))
    assert found["phase"] == "Pending"
    assert found["runs"] == [OPEN | {"finishedAt": at(-35)}]


def test_a_cancelled_job_ends_once_its_pods_have() -> None:
    cancelled = item(RUNNING, cancelled=True)
    assert state(observed(cancelled, pod(state=running()))) == ("Running", "Cancelling")
    going = pod(state=running(), meta=GOING)
    assert state(observed(cancelled, going, job=None)) == ("Running", "Cancelling")
    # Nobody can end what is on a node that is lost.
    seen = observed(cancelled, going, job=None, nodes=())
    assert state(seen, Clocks(NOW - timedelta(seconds=20))) == ("Running", "Ending")
    assert told(seen)["runs"] == [OPEN | {"finishedAt": at(-35)}]
    last = pod("Failed", state=ended(code=143, until=-1), meta=GOING)
    found = told(observed(cancelled, job=None, gone=(last,)))
    assert (found["phase"], found["finishedAt"]) == ("Cancelled", at(-1))
    assert found["runs"] == [OPEN | {"finishedAt": at(-1), "exitCode": 143}]


def test_a_job_is_cancelled_before_it_runs() -> None:
    found = told(observed(item(cancelled=True), job=None))
    assert (found["phase"], found["finishedAt"]) == ("Cancelled", at(0))
    assert "runs" not in found


def test_what_had_ended_before_is_not_cancelled() -> None:
    cancelled = item(RUNNING, cancelled=True)
    done = pod("Succeeded", state=ended())
    assert state(observed(cancelled, done, job=job("Complete"))) == ("Completed", "Completed")
    # Its Job was removed before it had said so.
    going = pod("Succeeded", state=ended(), meta=GOING | {"deletionGracePeriodSeconds": 0})
    assert state(observed(cancelled, job=None, gone=(going,))) == ("Completed", "Completed")
    # A program that ends well because it is told to end.
    told_to = pod("Succeeded", state=ended(until=-1), meta=GOING)
    assert state(observed(cancelled, job=None, gone=(told_to,)))[0] == "Cancelled"
    assert told(observed(item(COMPLETED, cancelled=True)))["phase"] == "Completed"


def test_a_job_whose_job_is_deleted_has_failed() -> None:
    assert state(observed(item(RUNNING), job=None)) == ("Failed", "JobDeleted")


def test_an_end_is_final_whatever_is_seen_later() -> None:
    kept = {name: value for name, value in COMPLETED.items() if name != "message"}
    for seen in (
        observed(item(COMPLETED), job=None),
        observed(item(COMPLETED), pod(state=running())),
        observed(item(COMPLETED), pod("Failed", state=ended(code=1)), job=job("Failed")),
    ):
        assert told(seen).items() >= kept.items()


def test_its_job_is_kept_for_a_time() -> None:
    done = item(COMPLETED, ttlSecondsAfterFinished=60)
    kept = find(told(observed(done)), "JobExpired")
    assert (kept["status"], kept["message"]) == ("False", f"its Job is kept until {at(50)}")
    later = NOW + timedelta(seconds=60)
    for clocks, status in ((Clocks(later), "False"), (Clocks(later, later), "True")):
        assert find(told(observed(done), clocks), "JobExpired")["status"] == status
    # Our clock alone may be wrong.
    assert find(told(observed(done), Clocks(later, NOW)), "JobExpired")["status"] == "False"
    assert wants_proof(observed(done), Clocks(later))
    assert next_look(observed(done), GUESS) == timedelta(seconds=51)


def test_a_queue_says_what_it_waits_for() -> None:
    report = Queued(Owner("Job", Key(NAMESPACE, NAME)), "j-1", "gpus", "")
    found = told(observed(item(queueName="gpus"), job=job(suspend=True), queued=report))
    assert found["message"] == "waiting in queue `gpus`: its turn has not come yet"


@pytest.mark.parametrize(
    ("seen", "due"),
    [
        (observed(), False),
        (observed(None, pod(state=running())), False),
        (observed(item(RUNNING), pod(state=running())), False),
        (observed(item(RUNNING), pod(state=ended())), False),
        (observed(item(RUNNING), pod(state=ended(until=60))), True),
        (observed(item(RUNNING)), True),
        (observed(item(RUNNING), pod("Succeeded", state=ended()), job=job("Complete")), True),
        (observed(item(COMPLETED)), False),
        (observed(item(RUNNING, meta={"deletionTimestamp": at(0)})), False),
    ],
)
def test_what_is_irreversible_is_proven(seen: Observed, *, due: bool) -> None:
    assert wants_proof(seen, GUESS) == due


def test_it_looks_again_when_time_alone_changes_something() -> None:
    assert next_look(observed(None, pod(state=running())), GUESS) is None
    going = {"deletionTimestamp": at(20), "deletionGracePeriodSeconds": 30}
    seen = observed(item(RUNNING), pod(state=running(), meta=going))
    assert next_look(seen, GUESS) == timedelta(seconds=21)
    assert next_look(failed(), GUESS) == timedelta(0)


def test_its_role_is_needed_for_a_missing_job_and_for_one_that_is_over() -> None:
    known: Any = None
    expired = COMPLETED | {"conditions": [{"type": "JobExpired", "status": "True"}]}
    assert cause(observed(item(expired), job=job("Complete")), known)[0] == "expired"
    assert cause(observed(item(COMPLETED), job=job("Complete")), known) == ()
    # It has ended, but its Job has not, and would go on.
    assert cause(observed(item(COMPLETED)), known) == ("over", at(-10))
    assert cause(observed(item(COMPLETED), job=None), known) == ()
    assert missing(observed(job=None)) == [NAME]
    assert missing(observed(item(RUNNING), job=None)) == []
    assert missing(observed(item(cancelled=True), job=None)) == []


def test_newer_states_replace_what_was_watched() -> None:
    seen = observed(item(RUNNING), pod(state=running()), job=None)
    again = seen.with_job([job()]).with_pods(["job-1-u1"], [pod(state=ended())], [node()])
    assert again.job is not None
    assert told(again)["runs"] == [OVER]
    lost = seen.with_pods(["job-1-u1"], [], [node()])
    assert (len(lost.pods), len(lost.gone)) == (0, 1)
    earlier = pod(state=ended(), meta={"creationTimestamp": at(-500)})
    assert seen.with_pods(["job-1-u1"], [earlier], [node()]).pods == []


def test_events_tell_what_lasts() -> None:
    def said(**after: Any) -> list[tuple[str, str]]:
        found = transitions({"phase": "Pending", "reason": "Creating"}, after)
        return [(each.type, each.reason) for each in found]

    assert said(phase=Phase.RUNNING, reason="Running") == [("Normal", "Running")]
    assert said(phase=Phase.PENDING, reason="NoNode") == [("Warning", "NoNode")]
    assert said(phase=Phase.FAILED, reason="NonZeroExit") == [("Warning", "NonZeroExit")]
    assert said(phase=Phase.PENDING, reason="Waiting") == []
