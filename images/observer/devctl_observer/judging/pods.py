"""What a pod does, from itself, its claims and the warnings about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devctl.api.devserver import Phase
from devctl_observer.judging.containers import judge_container
from devctl_observer.judging.model import Verdict
from devctl_observer.judging.refusals import judge_mount
from devctl_observer.judging.scheduling import SERVER_WORDS, judge_scheduling
from devctl_observer.judging.volumes import claim_names, judge_claims, waiting_claims

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightkube.models.core_v1 import (
        ContainerStatus,
        PersistentVolumeClaim,
        Pod,
        PodCondition,
    )
    from lightkube.resources.core_v1 import Event

    from devctl_observer.judging.scheduling import Words


@dataclass(frozen=True)
class Surroundings:
    """What is known beside a pod."""

    claims: Mapping[str, PersistentVolumeClaim] = field(default_factory=dict)
    warnings: Sequence[Event] = ()
    lost_nodes: frozenset[str] = frozenset()
    """Nodes that do not answer."""
    absent: str = ""
    """The shared claim that its pods are to mount, if there is no such claim."""


def judge_pod(pod: Pod, around: Surroundings) -> Verdict:
    """What a pod does and why it does not run."""
    if pod.metadata and pod.metadata.deletionTimestamp:
        return Verdict(Phase.STOPPING, "Terminating", "its pod is being ended")
    if node := lost_node(pod, around):
        message = f"node `{node}` does not answer; it starts elsewhere when the node is removed"
        return Verdict(Phase.PENDING, "NodeLost", message)
    if (ready := _condition(pod, "Ready")) and ready.status == "True":
        return Verdict(Phase.RUNNING, "Ready", "")
    if pod.status and pod.status.phase in {"Failed", "Succeeded"}:
        detail = pod.status.message or f"its pod ended as {pod.status.phase}"
        reason = pod.status.reason or "PodEnded"
        return Verdict(Phase.STARTING, reason, f"{detail}; a new one is about to be made")
    return judge_start(pod, around, SERVER_WORDS)


def judge_start(pod: Pod, around: Surroundings, words: Words) -> Verdict:
    """Why a pod is not up yet, in the words of what it is for."""
    scheduled = _condition(pod, "PodScheduled")
    if scheduled and scheduled.status == "True":
        return _starting(pod, around)
    return _unscheduled(pod, scheduled, around, words)


def _unscheduled(
    pod: Pod, condition: PodCondition | None, around: Surroundings, words: Words
) -> Verdict:
    if around.absent:
        what = f"the PersistentVolumeClaim `{around.absent}` of spec.sharedVolumeClaimName"
        message = f"{what} does not exist: make it, or name one that does"
        return Verdict(Phase.PENDING, "VolumeNotFound", message)
    if claims := judge_claims(claim_names(pod), around.claims, around.warnings):
        return claims
    if condition is None:
        return Verdict(Phase.PENDING, "Scheduling", "waits for the scheduler")
    verdict = judge_scheduling(condition, words)
    waiting = waiting_claims(claim_names(pod), around.claims)
    if verdict.reason == "VolumePending" and waiting:
        names = ", ".join(f"`{name}` (storage class `{kind}`)" for name, kind in waiting)
        return Verdict(verdict.phase, verdict.reason, f"claim {names} has no volume yet")
    return verdict


def _starting(pod: Pod, around: Surroundings) -> Verdict:
    containers = container_statuses(pod)
    verdicts = [verdict for c in containers if (verdict := judge_container(c))]
    if verdicts:
        return min(verdicts, key=lambda verdict: verdict.phase is not Phase.FAILED)
    if any(c.state and c.state.running and not c.ready for c in containers):
        return Verdict(Phase.STARTING, "NotReady", "its container runs and is not ready yet")
    name = pod.metadata.name if pod.metadata else None
    about = [e for e in around.warnings if e.involvedObject.name == name]
    creating = Verdict(Phase.STARTING, "Creating", "its container is being made")
    return judge_mount(about) or creating


def container_statuses(pod: Pod) -> list[ContainerStatus]:
    """What is told of a pod's containers, in the order in which they start."""
    status = pod.status
    return [
        *((status.initContainerStatuses if status else None) or []),
        *((status.containerStatuses if status else None) or []),
    ]


def is_refused(pod: Pod) -> bool:
    """Whether the scheduler has looked for a node, and found none."""
    scheduled = _condition(pod, "PodScheduled")
    return scheduled is not None and scheduled.status == "False"


def lost_node(pod: Pod, around: Surroundings) -> str:
    """The pod's node, if that does not answer; else empty."""
    node = (pod.spec.nodeName if pod.spec else None) or ""
    return node if node in around.lost_nodes else ""


def _condition(pod: Pod, kind: str) -> PodCondition | None:
    conditions = (pod.status.conditions if pod.status else None) or []
    return next((entry for entry in conditions if entry.type == kind), None)
