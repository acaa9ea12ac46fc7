"""What each replica of a server does, from its pod, its claims and the warnings about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl.api.devserver import Phase
from devctl_observer.containers import judge_container
from devctl_observer.model import Verdict
from devctl_observer.refusals import judge_mount, judge_refusal
from devctl_observer.scheduling import judge_scheduling
from devctl_observer.volumes import claim_names, judge_claims, waiting_claims

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lightkube.models.core_v1 import PersistentVolumeClaim, Pod, PodCondition
    from lightkube.resources.core_v1 import Event


@dataclass(frozen=True)
class Surroundings:
    """What is known beside a pod."""

    claims: Mapping[str, PersistentVolumeClaim] = field(default_factory=dict)
    warnings: Sequence[Event] = ()
    lost_nodes: frozenset[str] = frozenset()
    """Nodes that do not answer."""


@dataclass(frozen=True)
class Replica:
    """One pod of a server, or the place where it should be."""

    ordinal: int
    verdict: Verdict
    pod: Pod | None = None

    def to_status(self, name: str) -> dict[str, object]:
        """An entry of status.replicaStatuses."""
        status = self.pod.status if self.pod else None
        counts = [s.restartCount for s in (status.containerStatuses if status else None) or []]
        entry = {
            "ordinal": self.ordinal,
            "pod": name,
            "node": (self.pod.spec.nodeName if self.pod and self.pod.spec else None),
            "ip": status.podIP if status else None,
            "phase": str(self.verdict.phase),
            "reason": self.verdict.reason,
            "message": self.verdict.message,
            "restarts": sum(counts),
        }
        return {key: value for key, value in entry.items() if value not in {None, ""}}


def ordinal(name: str) -> int | None:
    """The number at the end of a StatefulSet pod's name."""
    last = name.rpartition("-")[2]
    return int(last) if last.isascii() and last.isdecimal() and len(last) < 7 else None  # noqa: PLR2004 - far beyond any server's size


def observe_replicas(size: int, pods: Iterable[Pod], around: Surroundings) -> list[Replica]:
    """Every replica that should be there and every pod that still is, in order."""
    by_ordinal = {
        number: pod
        for pod in pods
        if pod.metadata and (number := ordinal(pod.metadata.name or "")) is not None
    }
    return [
        _observe(number, by_ordinal.get(number), around)
        for number in sorted({*range(size), *by_ordinal})
    ]


def _observe(number: int, pod: Pod | None, around: Surroundings) -> Replica:
    if pod is None:
        made_by = [e for e in around.warnings if e.involvedObject.kind == "StatefulSet"]
        waits = Verdict(Phase.PENDING, "PodMissing", "its pod is about to be made")
        return Replica(number, judge_refusal(made_by) or waits)
    return Replica(number, judge_pod(pod, around), pod)


def judge_pod(pod: Pod, around: Surroundings) -> Verdict:
    """What a pod does and why it does not run."""
    if pod.metadata and pod.metadata.deletionTimestamp:
        return Verdict(Phase.STOPPING, "Terminating", "its pod is being ended")
    conditions = {c.type: c for c in (pod.status.conditions if pod.status else None) or []}
    if node := _lost(pod, around):
        message = f"node `{node}` does not answer; it starts elsewhere when the node is removed"
        return Verdict(Phase.PENDING, "NodeLost", message)
    if _true(conditions.get("Ready")):
        return Verdict(Phase.RUNNING, "Ready", "")
    if pod.status and pod.status.phase in {"Failed", "Succeeded"}:
        detail = pod.status.message or f"its pod ended as {pod.status.phase}"
        reason = pod.status.reason or "PodEnded"
        return Verdict(Phase.STARTING, reason, f"{detail}; a new one is about to be made")
    if not _true(conditions.get("PodScheduled")):
        return _unscheduled(pod, conditions.get("PodScheduled"), around)
    return _starting(pod, around)


def _unscheduled(pod: Pod, condition: PodCondition | None, around: Surroundings) -> Verdict:
    if claims := judge_claims(claim_names(pod), around.claims, around.warnings):
        return claims
    if condition is None:
        return Verdict(Phase.PENDING, "Scheduling", "waits for the scheduler")
    verdict = judge_scheduling(condition)
    waiting = waiting_claims(claim_names(pod), around.claims)
    if verdict.reason == "VolumePending" and waiting:
        names = ", ".join(f"`{name}` (storage class `{kind}`)" for name, kind in waiting)
        return Verdict(verdict.phase, verdict.reason, f"claim {names} has no volume yet")
    return verdict


def _starting(pod: Pod, around: Surroundings) -> Verdict:
    status = pod.status
    containers = [
        *((status.initContainerStatuses if status else None) or []),
        *((status.containerStatuses if status else None) or []),
    ]
    verdicts = [verdict for c in containers if (verdict := judge_container(c))]
    if verdicts:
        return min(verdicts, key=lambda verdict: verdict.phase is not Phase.FAILED)
    if any(c.state and c.state.running and not c.ready for c in containers):
        return Verdict(Phase.STARTING, "NotReady", "its container runs and is not ready yet")
    name = pod.metadata.name if pod.metadata else None
    about = [e for e in around.warnings if e.involvedObject.name == name]
    creating = Verdict(Phase.STARTING, "Creating", "its container is being made")
    return judge_mount(about) or creating


def _lost(pod: Pod, around: Surroundings) -> str:
    node = (pod.spec.nodeName if pod.spec else None) or ""
    return node if node in around.lost_nodes else ""


def _true(condition: PodCondition | None) -> bool:
    return condition is not None and condition.status == "True"
