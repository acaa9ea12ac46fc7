"""Jobs in a team's queue: why they wait, and what becomes of those that Kueue stops."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer.judging.clocks import from_text
from devctl_observer.kinds.jobs.status import job_status, judge, wants_proof
from devctl_observer.kinds.jobs.transitions import transitions
from devctl_observer.kinds.jobs.wake import missing
from devctl_observer.watching.store import Key
from devctl_observer.watching.workloads import Owner, Queued
from lightkube.models.core_v1 import PodSchedulingGate

from devctl.api.conditions import find
from devctl.api.ephemeral_acceleration_job import pod_name
from unit.observer.jobs.cluster import POD, Cluster
from unit.observer.jobs.things import (
    NAME,
    NAMESPACE,
    OURS,
    applied,
    at,
    claim,
    clocks,
    container,
    ended,
    job,
    observed,
    pod,
    unscheduled,
    waits,
)
from unit.observer.running import idle_observer, jobs_of

if TYPE_CHECKING:
    from devctl_observer.kinds.jobs.observed import Observed
    from lightkube.resources.core_v1 import Pod

IN_TEAM: dict[str, Any] = {"flavor": "gpu-large", "team": "vision"}
SHORT = "insufficient unused quota for nvidia.com/gpu in flavor gpu-large, 1 more needed"
WHERE = "waiting in the queue of team `vision` for flavor `gpu-large`: "
LABELS: dict[str, Any] = {"labels": OURS | {"kueue.x-k8s.io/queue-name": "devctl-gpu-large"}}
GOING: dict[str, Any] = LABELS | {"deletionTimestamp": at(10)}
STOPPED: dict[str, Any] = {
    "type": "TerminationTarget",
    "status": "True",
    "reason": "WorkloadEvictedDueToPreempted",
    "message": "Preempted to accommodate a workload",
    "lastTransitionTime": at(-8),
}
REFUSED = (
    'Internal error occurred: failed calling webhook "mpod.kb.io": failed to call webhook: Post '
    '"https://kueue-webhook-service.kueue-system.svc:443/mutate--v1-pod": no endpoints available'
)


def queued(waiting: str = "", preempted: str = "", uid: str = "p-1") -> Queued:
    owner = Owner("Pod", Key(NAMESPACE, pod_name(NAME)))
    return Queued(owner, uid, "devctl-gpu-large", waiting, preempted, at(-8) if preempted else "")


def stopped(phase: str = "Running", said: dict[str, Any] | None = None, **changes: Any) -> Pod:
    """A pod that Kueue has marked and deleted."""
    return pod(phase, meta=GOING, conditions=[STOPPED | (said or {})], **changes)


def told(seen: Observed) -> tuple[str, str, str]:
    found = job_status(seen, clocks())
    return found["phase"], found["reason"], found["message"]


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (queued(SHORT), "not enough quota is free: it needs 1 more nvidia.com/gpu"),
        (queued(), "its turn has not come yet"),
        (None, "Kueue has not answered yet; check with `devctl doctor` whether it runs"),
    ],
)
def test_a_gated_job_says_what_it_waits_for(report: Queued | None, why: str) -> None:
    seen = observed(job(**IN_TEAM), unscheduled("SchedulingGated", ""), claim("Pending"))
    assert told(replace(seen, queued=report)) == ("Pending", "Queued", WHERE + why)
    (event,) = transitions({}, job_status(replace(seen, queued=report), clocks()))
    assert (event.type, event.reason) == ("Normal", "Queued")


def test_a_gate_of_somebody_else_is_no_queue() -> None:
    seen = observed(job(team="vision"), unscheduled("SchedulingGated", ""))
    assert told(seen) == ("Pending", "Queued", "queued until there is quota for it")


def test_an_admitted_job_is_judged_by_its_pod() -> None:
    seen = observed(job(**IN_TEAM), pod("Pending", **waits("ContainerCreating")))
    assert told(replace(seen, queued=queued()))[1] == "Creating"


def test_a_new_job_says_that_kueue_is_down() -> None:
    refused = applied("False", reason="Unavailable", message=REFUSED)
    phase, reason, message = told(observed(job(refused, **IN_TEAM)))
    assert (phase, reason) == ("Pending", "QueueUnavailable")
    assert message.startswith("Kueue does not answer, which admits jobs of team `vision`")
    assert told(observed(job(refused)))[1] == "Unavailable"


def test_a_preempted_job_says_so_while_it_is_stopped_and_when_it_has_ended() -> None:
    running = {"phase": "Running", "reason": "Running", "startedAt": at(-10)}
    seen = observed(job(running, **IN_TEAM), stopped(), claim())
    seen = replace(seen, queued=queued(preempted="InClusterQueue"))
    phase, reason, message = told(seen)
    assert (phase, reason) == ("Running", "Preempted")
    assert message == (
        "preempted because a server or job with a higher priority needed its quota; its volume is "
        "kept; delete it with `egpu delete my-job` and create it to run it again"
    )
    first = job_status(seen, clocks())
    (event,) = transitions(running, first)
    assert (event.type, event.reason) == ("Warning", "Preempted")

    # Kueue's report goes with the pod.
    over = observed(job(first, **IN_TEAM), stopped("Failed", **ended(143)), claim())
    last = job_status(over, clocks())
    assert (last["phase"], last["reason"], last["message"]) == ("Failed", "Preempted", message)
    assert last["finishedAt"] == at(-5)
    assert "exitCode" not in last
    assert last["artifactsExpireAt"] == at(3595)
    assert find(last, "ArtifactsExpired")["reason"] == "Kept"
    assert [event.reason for event in transitions(first, last)] == ["PodExpired"]


def test_a_team_that_takes_back_its_quota_is_named() -> None:
    seen = observed(job(**IN_TEAM), stopped())
    seen = replace(seen, queued=queued(preempted="InCohortReclamation"))
    assert "another team took back the quota that it had lent" in told(seen)[2]
    assert "because its quota was needed" in told(replace(seen, queued=None))[2]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_what_ends_when_it_is_told_to_is_preempted_whatever_its_exit_code(phase: str) -> None:
    seen = observed(job(**IN_TEAM), stopped(phase, **ended(0)))
    assert told(seen)[:2] == ("Failed", "Preempted")


def test_a_program_that_had_ended_before_was_not_preempted() -> None:
    late = {"lastTransitionTime": at(-1)}
    done = observed(job(**IN_TEAM), stopped("Succeeded", late, **ended(0)))
    assert told(done)[:2] == ("Succeeded", "Completed")
    failed = observed(job(**IN_TEAM), stopped("Failed", late, **ended(3)))
    assert told(failed)[0] == "Failed"
    assert told(failed)[1] != "Preempted"


@pytest.mark.parametrize(
    "before", [{}, {"phase": "Pending", "reason": "Preempted", "message": "its reason"}]
)
def test_a_job_that_is_preempted_before_its_start_gets_no_other_pod(before: Any) -> None:
    """Otherwise it might be started and preempted in a loop."""
    settled = applied() | before
    waiting = observed(job(settled, **IN_TEAM), stopped("Pending", **waits("x")), claim())
    assert told(waiting)[:2] == ("Pending", "Preempted")
    gone = observed(job(settled, **IN_TEAM), None, claim())
    # From the pod's last state, or, after a restart of the observer, from the status.
    gone = gone if before else replace(gone, last=stopped("Pending", **waits("x")))
    assert wants_proof(gone, clocks())
    assert judge(gone, clocks()).absence
    assert missing(gone) == []
    proven = job_status(replace(gone, listed=True), clocks())
    assert (proven["phase"], proven["reason"]) == ("Failed", "Preempted")
    assert "startedAt" not in proven
    assert proven["artifactsExpireAt"]
    unproven = job_status(gone, clocks())
    assert (unproven["phase"], unproven["reason"]) == ("Pending", "Ending")


def test_a_running_job_whose_pod_is_gone_after_a_preemption_was_preempted() -> None:
    status = {"phase": "Running", "reason": "Preempted", "message": "its reason"}
    gone = observed(job(status | {"startedAt": at(-10)}, **IN_TEAM), listed=True)
    assert told(gone) == ("Failed", "Preempted", "its reason")


def test_another_reason_of_kueue_is_told_in_its_words() -> None:
    said = {"reason": "WorkloadEvictedDueToClusterQueueStopped", "message": "queue is stopped"}
    seen = observed(job(**IN_TEAM), stopped("Failed", said, **ended(143)))
    phase, reason, message = told(seen)
    assert (phase, reason) == ("Failed", "Evicted")
    assert "its queue has stopped it (queue is stopped)" in message


def test_only_kueue_stops_what_is_in_a_queue() -> None:
    other = pod("Pending", meta={"deletionTimestamp": at(10)}, conditions=[STOPPED], **waits("x"))
    assert told(observed(job(**IN_TEAM), other))[1] == "Deleting"


def test_an_earlier_pod_that_kueue_holds_is_told() -> None:
    owner = {"apiVersion": "v1", "kind": "EphemeralAccelerationJob", "name": NAME, "uid": "other"}
    held = GOING | {"finalizers": ["kueue.x-k8s.io/managed"], "ownerReferences": [owner]}
    assert "Kueue has to release" in told(observed(job(**IN_TEAM), pod(meta=held)))[2]
    free = held | {"finalizers": []}
    assert "Kueue" not in told(observed(job(**IN_TEAM), pod(meta=free)))[2]


def test_a_workload_concerns_its_job_and_only_its_own_pod_s_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = idle_observer()
    jobs, key = jobs_of(one), Key(NAMESPACE, NAME)
    seen: list[Key] = []
    monkeypatch.setattr(jobs.queue, "add", seen.append)
    jobs.store.put(key, 1, job(**IN_TEAM))
    one.workload(None, queued(SHORT))
    assert seen == [key]
    made = pod("Pending")
    one.children.pods.put(Key(NAMESPACE, pod_name(NAME)), 1, made)
    old, own = queued(uid="p-0"), queued(SHORT)
    for name, report in (("old", old), ("own", own)):
        one.children.workloads.put(Key(NAMESPACE, name), 1, report)
    assert jobs.caches.observe(key, job(**IN_TEAM)).queued == own


def test_without_its_mark_kueue_s_report_on_a_deleted_pod_counts() -> None:
    report = queued(preempted="InClusterQueue")
    bare = observed(job(**IN_TEAM), pod("Failed", meta=GOING, **ended(143)))
    assert told(replace(bare, queued=report))[:2] == ("Failed", "Preempted")
    assert told(bare)[1] == "PodDeleted"
    # What waits is not deleted by Kueue, whatever its report says of an earlier turn.
    gate = unscheduled("SchedulingGated", "")
    assert gate.metadata
    assert gate.spec
    gate.metadata.deletionTimestamp = from_text(at(10))
    gate.metadata.labels = LABELS["labels"]
    gate.spec.schedulingGates = [PodSchedulingGate("kueue.x-k8s.io/admission")]
    assert told(replace(observed(job(**IN_TEAM), gate), queued=report))[1] == "Deleting"


@pytest.mark.parametrize("marked", [True, False])
def test_a_report_that_the_watch_has_not_delivered_yet_is_read(marked: bool) -> None:  # noqa: FBT001
    cluster = Cluster()
    cluster.create(**IN_TEAM)
    cluster.settle()
    cluster.runs()
    made = cluster.pods[POD]
    going = {"labels": made["metadata"]["labels"] | LABELS["labels"], "deletionTimestamp": at(0)}
    status = made["status"] | {
        "phase": "Failed",
        "conditions": [STOPPED] if marked else [],
        "containerStatuses": [container(terminated={"exitCode": 143, "finishedAt": at(0)})],
    }
    said = [
        {"type": "Evicted", "status": "True", "reason": "Preempted"},
        {"type": "Preempted", "status": "True", "reason": "InClusterQueue"},
    ]
    owner = {"kind": "Pod", "name": POD, "uid": made["metadata"]["uid"]}
    about = {"name": "w", "namespace": NAMESPACE, "resourceVersion": "1"}
    cluster.workloads = [
        {"metadata": about | {"ownerReferences": [owner]}, "status": {"conditions": said}}
    ]
    cluster.store("pods", made | {"metadata": made["metadata"] | going, "status": status})
    cluster.settle()
    found = cluster.status()
    assert (found["phase"], found["reason"]) == ("Failed", "Preempted")
    assert "a server or job with a higher priority needed its quota" in found["message"]
