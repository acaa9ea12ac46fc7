"""Waiting for a user's own pod to start, and why it does not, in the words of jobs and servers."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.conditions import find
from devctl.api.image_pulls import PULL_FAILURES, pull_error
from devctl.errors import DevctlError, WaitTimeoutError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.kube.cluster import Cluster, Object

PATIENCE = 10.0
"""Seconds that a fatal problem may last: image registries have hiccups."""
_POLL = 0.25
_SLOW = 2.0
"""Seconds after which events are read too."""
_ENDED = {"Failed", "Succeeded"}
_START = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
_INSUFFICIENT = re.compile(r"Insufficient ([A-Za-z0-9./_-]*[A-Za-z0-9])")
_BEYOND = re.compile(r" (?:no new claims to deallocate|preemption:)")
_MOUNT = {"FailedMount", "FailedAttachVolume", "FailedMapVolume"}
_VOLUME = re.compile(
    r"node affinity|unbound immediate PersistentVolumeClaims|persistentvolumeclaim |volume limit"
    r"|didn't find available persistent volumes"
)


class Trouble(NamedTuple):
    """Why a pod is not running."""

    reason: str
    message: str
    fatal: bool = False
    """Whether it is unlikely to resolve itself."""

    def __str__(self) -> str:
        """Reason and message."""
        return f"{self.reason}: {self.message}"


def wait_started(
    cluster: Cluster, made: Object, seconds: float, progress: Callable[[Trouble], None]
) -> None:
    """Wait until a pod is running; `progress` is told why it is not yet.

    Raises:
        WaitTimeoutError: It is not running by then.
        DevctlError: It cannot start, or was recreated.
    """
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    began = time.monotonic()
    failed_since: float | None = None
    while True:
        pod = cluster.get(resources.Pod, name)
        if pod["metadata"]["uid"] != uid:
            raise DevctlError(f"pod `{name}` was recreated by somebody", "repeat the command")
        now = time.monotonic()
        found = trouble(pod, _warnings(cluster, pod) if now - began > _SLOW else ())
        if found is None:
            return
        progress(found)
        failed_since = (failed_since or now) if found.fatal else None
        ended = (pod.get("status") or {}).get("phase") in _ENDED
        if failed_since and (ended or now - failed_since >= PATIENCE):
            raise DevctlError(f"pod `{name}` does not start: {found}", _fix(found.reason))
        if now - began >= seconds:
            raise WaitTimeoutError(
                f"pod `{name}` has not started after {seconds:.0f} s: {found}", _fix(found.reason)
            )
        time.sleep(_POLL)


def trouble(pod: Object, warnings: Sequence[Object] = ()) -> Trouble | None:
    """Why a pod is not running, given events about it and its claim; None if it is running."""
    status = pod.get("status") or {}
    if "deletionTimestamp" in pod["metadata"]:
        return Trouble("Deleted", "somebody has deleted it", fatal=True)
    if status.get("phase") in _ENDED:
        reason = status.get("reason") or "PodEnded"
        return Trouble(reason, status.get("message") or _ended(status), fatal=True)
    containers = status.get("containerStatuses") or []
    states = [(c.get("image", ""), c.get("state") or {}) for c in containers]
    if any("running" in state for _, state in states):
        return None
    waits = (_container(image, state.get("waiting") or {}) for image, state in states)
    if found := next(filter(None, waits), None):
        return found
    scheduled = find(status, "PodScheduled")
    if scheduled.get("status") != "True":
        return _unscheduled(scheduled.get("message") or "", warnings)
    return _on_node(warnings)


def _on_node(warnings: Sequence[Object]) -> Trouble:
    for event in reversed(warnings):
        if event.get("reason") in _MOUNT:
            return Trouble("MountFailed", f"a volume cannot be mounted yet: {event['message']}")
        if event.get("reason") == "FailedCreatePodSandBox":
            return Trouble("SandboxFailed", f"its node cannot set it up yet: {event['message']}")
    return Trouble("Creating", "its container is being created")


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


def _unscheduled(said: str, warnings: Sequence[Object]) -> Trouble:
    detail = _BEYOND.split(said)[0].strip()
    for event in reversed(warnings):
        if (event.get("involvedObject") or {}).get("kind") == "PersistentVolumeClaim":
            message = f"its claim gets no volume; ask an administrator ({event.get('message')})"
            return Trouble("VolumePending", message)
    if missing := sorted(set(_INSUFFICIENT.findall(detail))):
        what = " and ".join(f"`{name}`" for name in missing)
        message = f"no node has enough free {what}; wait until others stop ({detail})"
        return Trouble("Unschedulable", message)
    if _VOLUME.search(detail):
        return Trouble("VolumePending", f"no node can use its volume ({detail})")
    if detail:
        return Trouble("Unschedulable", f"no node accepts it ({detail})")
    return Trouble("Scheduling", "it is waiting for the scheduler")


def _ended(status: Object) -> str:
    for container in status.get("containerStatuses") or []:
        if ended := (container.get("state") or {}).get("terminated"):
            said = ended.get("message") or f"exit code {ended.get('exitCode')}"
            return f"its container ended: {said}"
    return "it ended by itself"


def _warnings(cluster: Cluster, pod: Object) -> list[Object]:
    volumes = [volume.get("persistentVolumeClaim") for volume in pod["spec"].get("volumes", [])]
    names = {pod["metadata"]["name"], *(volume["claimName"] for volume in volumes if volume)}
    with suppress(DevctlError):
        return [
            event
            for event in cluster.list(resources.Event)
            if event.get("type") == "Warning" and event["involvedObject"].get("name") in names
        ]
    return []


def _fix(reason: str) -> str:
    if reason == "ImagePullFailed":
        return "name another image with --loader-image or EGPU_LOADER_IMAGE"
    if reason in {"Unschedulable", "VolumePending", "MountFailed"}:
        return "check with `kubectl get pods` what uses the volume or the node, and try again"
    return "try again; if it keeps failing, ask an administrator"
