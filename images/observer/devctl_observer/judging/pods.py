"""The state of a pod, from the pod, its claims and the warning Events about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lightkube.models.core_v1 import ContainerStatus, PersistentVolumeClaim, Pod, PodCondition
from lightkube.resources.core_v1 import Event

from devctl.api.devserver import Phase
from devctl.api.quantities import gpus_in
from devctl_observer.judging.containers import judge_container
from devctl_observer.judging.model import Verdict
from devctl_observer.judging.refusals import judge_mount
from devctl_observer.judging.scheduling import SERVER_WORDS, Words, judge_scheduling


@dataclass(frozen=True)
class Surroundings:
    """What is known besides the pod itself."""

    claims: Mapping[str, PersistentVolumeClaim] = field(default_factory=dict)
    warnings: Sequence[Event] = ()
    lost_nodes: frozenset[str] = frozenset()
    """Nodes that are not ready."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """The network plugins whose agents are not ready, by node."""
    absent: str = ""
    """The shared claim to mount, if it does not exist."""


def judge_pod(pod: Pod, around: Surroundings) -> Verdict:
    """The state of a pod, and why it does not run."""
    if ends_at(pod):
        return Verdict(Phase.STOPPING, "Terminating", "its pod is terminating")
    if (node := node_of(pod)) in around.lost_nodes:
        message = f"node `{node}` is not ready; the pod starts elsewhere once the node is removed"
        return Verdict(Phase.PENDING, "NodeLost", message)
    if (ready := pod_condition(pod, "Ready")) and ready.status == "True":
        return Verdict(Phase.RUNNING, "Ready", "")
    if pod.status and pod.status.phase in {"Failed", "Succeeded"}:
        detail = pod.status.message or f"its pod ended with phase {pod.status.phase}"
        reason = pod.status.reason or "PodEnded"
        return Verdict(Phase.STARTING, reason, f"{detail}; a new pod is about to be created")
    return judge_start(pod, around, SERVER_WORDS)


def judge_start(pod: Pod, around: Surroundings, words: Words) -> Verdict:
    """Why a pod is not up yet, in the words of its kind."""
    scheduled = pod_condition(pod, "PodScheduled")
    if scheduled and scheduled.status == "True":
        return _starting(pod, around)
    return _unscheduled(pod, scheduled, around, words)


def _unscheduled(
    pod: Pod, condition: PodCondition | None, around: Surroundings, words: Words
) -> Verdict:
    if around.absent:
        what = f"the PersistentVolumeClaim `{around.absent}` in spec.sharedVolumeClaimName"
        message = f"{what} does not exist: create it, or name an existing one"
        return Verdict(Phase.PENDING, "VolumeNotFound", message)
    if claims := judge_claims(pod, around):
        return claims
    if condition is None:
        return Verdict(Phase.PENDING, "Scheduling", "waiting for the scheduler")
    verdict = judge_scheduling(condition, words)
    waiting = waiting_claims(pod, around)
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
        return Verdict(Phase.STARTING, "NotReady", "its container is running but not ready yet")
    name = pod.metadata.name if pod.metadata else None
    about = [e for e in around.warnings if e.involvedObject.name == name]
    creating = Verdict(Phase.STARTING, "Creating", "its container is starting")
    return judge_mount(about) or creating


def container_statuses(pod: Pod) -> list[ContainerStatus]:
    """The statuses of all of a pod's containers, in the order in which they start."""
    before = (pod.status.initContainerStatuses if pod.status else None) or []
    return [*before, *own_statuses(pod)]


def own_statuses(pod: Pod) -> list[ContainerStatus]:
    """The statuses of a pod's main containers, without init containers."""
    return (pod.status.containerStatuses if pod.status else None) or []


def gpus_of(pod: Pod) -> int:
    """The GPUs that a pod requests: whole devices, so their limit is the request."""
    containers = (pod.spec.containers if pod.spec else None) or []
    asked = [(c.resources.limits or c.resources.requests or {}) for c in containers if c.resources]
    return sum(gpus_in(amounts) for amounts in asked)


def node_of(pod: Pod) -> str:
    """The node of a pod; empty if it is not scheduled yet."""
    return (pod.spec.nodeName if pod.spec else None) or ""


def ends_at(pod: Pod) -> datetime | None:
    """When the grace period of a deleted pod ends; None if the pod was not deleted."""
    return pod.metadata.deletionTimestamp if pod.metadata else None


def has_ended(pod: Pod) -> bool:
    """Whether all of a pod's containers have ended, and none is started again."""
    return (pod.status.phase if pod.status else None) in {"Succeeded", "Failed"}


def is_refused(pod: Pod) -> bool:
    """Whether the scheduler has found no node for a pod."""
    scheduled = pod_condition(pod, "PodScheduled")
    return scheduled is not None and scheduled.status == "False"


def pod_condition(pod: Pod, kind: str) -> PodCondition | None:
    """A condition of a pod."""
    conditions = (pod.status.conditions if pod.status else None) or []
    return next((entry for entry in conditions if entry.type == kind), None)


def claim_names(pod: Pod) -> list[str]:
    """The names of the claims that a pod mounts."""
    volumes = (pod.spec.volumes if pod.spec else None) or []
    sources = [volume.persistentVolumeClaim for volume in volumes]
    return [source.claimName for source in sources if source is not None]


def judge_claims(pod: Pod, around: Surroundings) -> Verdict | None:
    """The first claim that is lost, or that is pending with a warning; None if there is none.

    A claim that is merely pending proves nothing: most storage classes wait until the pod has a
    node. An unknown claim may be a shared one, which the scheduler reports.
    """
    about = [(event.involvedObject, event) for event in around.warnings]
    said = {thing.name: event for thing, event in about if thing.kind == "PersistentVolumeClaim"}
    for name in claim_names(pod):
        claim = around.claims.get(name)
        if claim is None or claim.status is None:
            continue
        if claim.status.phase == "Lost":
            message = f"the volume of claim `{name}` is lost; ask an administrator to restore it"
            return Verdict(Phase.FAILED, "VolumeLost", message)
        if claim.status.phase == "Pending" and (event := said.get(name)):
            message = (
                f"claim `{name}` has no volume; ask an administrator to check its storage class "
                f"({event.message})"
            )
            return Verdict(Phase.PENDING, "VolumePending", message)
    return None


def waiting_claims(pod: Pod, around: Surroundings) -> list[tuple[str, str]]:
    """Pending claims, each with its storage class."""
    return [
        (name, (claim.spec.storageClassName if claim.spec else None) or "")
        for name in claim_names(pod)
        if (claim := around.claims.get(name)) and claim.status and claim.status.phase == "Pending"
    ]
