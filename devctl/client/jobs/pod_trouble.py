"""Why a pod that a user has made does not start, in the words that jobs and servers have for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.image_pulls import PULL_FAILURES, pull_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devctl.kube.cluster import Object

_START = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
_INSUFFICIENT = re.compile(r"Insufficient ([A-Za-z0-9./_-]*[A-Za-z0-9])")
_BEYOND = re.compile(r" (?:no new claims to deallocate|preemption:)")
_MOUNT = {"FailedMount", "FailedAttachVolume", "FailedMapVolume"}
_VOLUME = re.compile(
    r"node affinity|unbound immediate PersistentVolumeClaims|persistentvolumeclaim |volume limit"
    r"|didn't find available persistent volumes"
)


class Trouble(NamedTuple):
    """Why a pod does not run.

    Attributes:
        reason: In one word.
        message: In words that say what to do.
        fatal: Whether it will not pass soon.
    """

    reason: str
    message: str
    fatal: bool = False

    def __str__(self) -> str:
        """Both."""
        return f"{self.reason}: {self.message}"


def trouble(pod: Object, warnings: Iterable[Object] = ()) -> Trouble | None:
    """Why a pod does not run; None where it does.

    Args:
        pod: The pod.
        warnings: Events about the pod and its claim, the oldest first.
    """
    status = pod.get("status") or {}
    if "deletionTimestamp" in pod["metadata"]:
        return Trouble("Deleted", "somebody has deleted it", fatal=True)
    if status.get("phase") in {"Failed", "Succeeded"}:
        reason = status.get("reason") or "PodEnded"
        return Trouble(reason, status.get("message") or _ended(status), fatal=True)
    containers = status.get("containerStatuses") or []
    states = [(c.get("image", ""), c.get("state") or {}) for c in containers]
    if any("running" in state for _, state in states):
        return None
    waits = (_container(image, state.get("waiting") or {}) for image, state in states)
    if found := next(filter(None, waits), None):
        return found
    conditions = {c["type"]: c for c in status.get("conditions") or []}
    scheduled = conditions.get("PodScheduled") or {}
    if scheduled.get("status") != "True":
        return _unscheduled(scheduled.get("message") or "", list(warnings))
    return _on_node(list(warnings))


def _on_node(warnings: list[Object]) -> Trouble:
    for event in reversed(warnings):
        if event.get("reason") in _MOUNT:
            return Trouble("MountFailed", f"a volume cannot be mounted yet: {event['message']}")
        if event.get("reason") == "FailedCreatePodSandBox":
            said = f"its node cannot set the pod up yet: {event['message']}"
            return Trouble("SandboxFailed", said)
    return Trouble("Creating", "its container is being made")


def _container(image: str, waiting: Object) -> Trouble | None:
    reason, detail = waiting.get("reason", ""), waiting.get("message") or ""
    if reason in PULL_FAILURES:
        detail = pull_error(detail)
        message = f"image `{image}` cannot be pulled" + (f" ({detail})" if detail else "")
        return Trouble("ImagePullFailed", message, fatal=True)
    if reason in _START:
        why = detail or "no detail given"
        return Trouble("StartFailed", f"the container cannot be started: {why}", fatal=True)
    return None


def _unscheduled(said: str, warnings: list[Object]) -> Trouble:
    detail = _BEYOND.split(said)[0].strip()
    for event in reversed(warnings):
        about = (event.get("involvedObject") or {}).get("kind")
        if about == "PersistentVolumeClaim":
            message = f"its claim gets no volume; ask an administrator ({event.get('message')})"
            return Trouble("VolumePending", message)
    if missing := sorted(set(_INSUFFICIENT.findall(detail))):
        what = " and ".join(f"`{name}`" for name in missing)
        message = f"no node has enough free {what}; wait until others stop ({detail})"
        return Trouble("Unschedulable", message)
    if _VOLUME.search(detail):
        return Trouble("VolumePending", f"no node can use its volume ({detail})")
    if detail:
        return Trouble("Unschedulable", f"no node takes it ({detail})")
    return Trouble("Scheduling", "waits for the scheduler")


def _ended(status: Object) -> str:
    for container in status.get("containerStatuses") or []:
        ended = (container.get("state") or {}).get("terminated")
        if ended:
            said = ended.get("message") or f"exit code {ended.get('exitCode')}"
            return f"its container ended: {said}"
    return "it ended by itself"
