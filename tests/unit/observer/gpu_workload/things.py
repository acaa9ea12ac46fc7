"""Objects of a GPUWorkload as the API server returns them, reduced to what matters."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from devctl_observer.judging.clocks import Clocks, to_text
from devctl_observer.kinds.gpu_workload.model import KIND
from devctl_observer.kinds.gpu_workload.observed import JOB_OF, Observed
from devctl_observer.kinds.gpu_workload.placement import Choice
from devctl_observer.kinds.gpu_workload.status import workload_status
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Pod

from devctl.api.gpu_workload import ATTEMPT, LABEL, RANK, job_name
from unit.observer.objects import NOW

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from devctl_observer.kinds.gpu_workload.model import GPUWorkload

NAMESPACE, NAME, UID = "team", "one", "w-1"
CHOSEN = Choice("n1", [{"node": "n1", "score": 4, "reason": "4 of 4 GPUs are free"}])
SCHEDULING = {"phase": "Scheduling", "attempt": 1, "retryCount": 0, "assignedNode": "n1"}
RUNNING = SCHEDULING | {"phase": "Running", "reason": "Running", "jobName": "one-1"}


def at(seconds: float) -> str:
    """The timestamp of a number of seconds after NOW."""
    return to_text(NOW + timedelta(seconds=seconds))


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def workload(status: dict[str, Any] | None = None, **spec: Any) -> GPUWorkload:
    metadata = {"name": NAME, "namespace": NAMESPACE, "uid": UID, "generation": 1}
    metadata |= spec.pop("meta", {})
    given = {"modelName": "llama2", "gpuCount": 1} | spec
    return KIND.parse(
        {
            "metadata": metadata | {"resourceVersion": "5"},
            "spec": given,
            "status": status or {},
        }
    )


def job(attempt: int = 1, ended: str = "", reason: str = "", **spec: Any) -> Job:
    """The Job of an attempt; `ended` is `Complete` or `Failed`."""
    owner = {"apiVersion": "gpu.warp.dev/v1alpha1", "kind": "GPUWorkload", "name": NAME, "uid": UID}
    said = [{"type": ended, "status": "True", "reason": reason}] if ended else []
    return msgspec.convert(
        {
            "metadata": {
                "name": job_name(NAME, attempt),
                "namespace": NAMESPACE,
                "uid": f"j-{attempt}",
                "labels": {LABEL: NAME, ATTEMPT: str(attempt)},
                "ownerReferences": [owner],
                **spec.pop("meta", {}),
            },
            "spec": {"template": {}, **spec},
            "status": {"conditions": said},
        },
        Job,
    )


def pod(phase: str = "Running", node: str | None = "n1", attempt: int = 1, **changes: Any) -> Pod:
    """The pod of an attempt; `conditions` are added, `state` is its container's."""
    meta, state = changes.pop("meta", {}), changes.pop("state", {"running": {"startedAt": at(-10)}})
    name = job_name(NAME, attempt)
    scheduled = {
        "type": "PodScheduled",
        "status": "True" if node else "False",
        "lastTransitionTime": at(-20),
    }
    conditions = [*changes.pop("conditions", []), scheduled | changes.pop("scheduled", {})]
    container = {
        "name": "workload",
        "image": "i",
        "imageID": "",
        "ready": "running" in state,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }
    labels = {LABEL: NAME, JOB_OF: name}
    metadata = {"name": f"{name}-abcde", "namespace": NAMESPACE, "uid": "p", "labels": labels}
    return msgspec.convert(
        {
            "metadata": metadata | {"creationTimestamp": at(-30)} | meta,
            "spec": {"containers": [], "nodeName": node, **changes.pop("spec", {})},
            "status": {
                "phase": phase,
                "conditions": conditions,
                "containerStatuses": [container] if node else [],
                **changes,
            },
        },
        Pod,
    )


def rank(number: int, phase: str = "Running", node: str | None = "n1", **changes: Any) -> Pod:
    """One of several pods of the first attempt."""
    name = f"{job_name(NAME, 1)}-{number}-abcde"
    labels = {LABEL: NAME, JOB_OF: job_name(NAME, 1), RANK: str(number)}
    meta = {"name": name, "uid": f"p-{number}", "labels": labels} | changes.pop("meta", {})
    return pod(phase, node, meta=meta, **changes)


def exited(code: int, message: str = "", reason: str = "Error", **more: Any) -> dict[str, Any]:
    """The state of a container that ran from 10 s ago to 5 s ago."""
    times = {"startedAt": at(-10), "finishedAt": at(-5)}
    state = {"exitCode": code, "message": message, "reason": reason}
    return {"terminated": state | times | more}


def disrupted(reason: str) -> dict[str, Any]:
    """The condition of a pod that the cluster has ended for 8 s."""
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "lastTransitionTime": at(-8),
    }


def seen(item: GPUWorkload | None = None, **of: Any) -> Observed:
    """What was observed; all nodes are ready. `pod` is its pod, and `last` the one that is gone."""
    for one, several in (("pod", "pods"), ("last", "gone")):
        if one in of:
            of[several] = [of.pop(one)]
    return Observed(item or workload(), **{"nodes": frozenset({"n1", "n2"}), **of})


def status_of(
    observed: Observed,
    seconds: float = 0,
    choose: Choice | Callable[[], Choice] = CHOSEN,
    theirs: float | None = None,
) -> dict[str, Any]:
    """The status at a number of seconds after NOW."""
    choice = choose if callable(choose) else lambda: choose
    clocks = Clocks(after(seconds), None if theirs is None else after(theirs))
    return workload_status(observed, clocks, choice)


def told(status: dict[str, Any]) -> tuple[Any, Any]:
    """Phase and reason."""
    return status["phase"], status["reason"]
