"""Objects of a GPUWorkerJob as the API server returns them, reduced to what matters."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from devctl_observer.judging.clocks import to_text
from devctl_observer.kinds.gpu_worker_job.model import KIND, GPUWorkerJob
from devctl_observer.kinds.gpu_worker_job.observed import Observed
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Pod

from devctl.api.gpu_worker_job import LABEL
from devctl.api.placing import NodeFacts
from unit.observer.objects import NOW

Thing = dict[str, Any]
NAMESPACE, NAME, UID = "imagepod", "job-1", "w-1"


def at(seconds: float) -> str:
    """The timestamp of a number of seconds after NOW."""
    return to_text(NOW + timedelta(seconds=seconds))


OPEN: Thing = {"podUID": "u1", "podName": "job-1-u1", "node": "a", "startedAt": at(-60)}
"""The run of a pod that runs."""


def item(status: Thing | None = None, **spec: Any) -> GPUWorkerJob:
    """A job, created two minutes ago."""
    metadata = {"name": NAME, "namespace": NAMESPACE, "uid": UID, "generation": 1}
    metadata |= {"creationTimestamp": at(-120), "resourceVersion": "5", **spec.pop("meta", {})}
    given = {"cpuCores": 1, "memoryMegabytes": 16} | spec
    return KIND.parse({"metadata": metadata, "spec": given, "status": status or {}})


def job(ended: str = "", seconds: float = -5, **spec: Any) -> Job:
    """Its Job; `ended` is the type of a condition."""
    said = {"type": ended, "status": "True", "lastTransitionTime": at(seconds)}
    metadata: Thing = {"name": NAME, "namespace": NAMESPACE, "uid": "j-1"}
    metadata["labels"] = {LABEL: NAME}
    metadata["ownerReferences"] = [{"apiVersion": "v", "kind": "k", "name": NAME, "uid": UID}]
    conditions = [said] if ended else []
    found = {"metadata": metadata, "spec": {"template": {}, **spec}}
    return msgspec.convert(found | {"status": {"conditions": conditions}}, Job)


def pod(phase: str = "Running", state: Thing | None = None, uid: str = "u1", **more: Any) -> Pod:
    """One of its pods; further fields are the status's."""
    own = {"name": "job", "image": "i", "imageID": "", "ready": True, "restartCount": 0}
    statuses = [own | {"state": state}] if state else []
    node, meta = more.pop("node", "a"), more.pop("meta", {})
    labels = {LABEL: NAME}
    metadata = {"name": f"job-1-{uid}", "namespace": NAMESPACE, "uid": uid, "labels": labels}
    return msgspec.convert(
        {
            "metadata": metadata | {"creationTimestamp": at(-100)} | meta,
            "spec": {"nodeName": node, "containers": []},
            "status": {"phase": phase, "containerStatuses": statuses, **more},
        },
        Pod,
    )


def running(since: float = -60) -> Thing:
    """The state of a program that runs."""
    return {"running": {"startedAt": at(since)}}


def ended(since: float = -60, until: float = -10, code: int = 0, **more: Any) -> Thing:
    """The state of a program that has ended."""
    times = {"startedAt": at(since), "finishedAt": at(until)}
    return {"terminated": {**times, "exitCode": code, "reason": "Completed", **more}}


def node(name: str = "a", *, ready: bool = True, state: str = "active") -> NodeFacts:
    """A node that jobs fit on."""
    labels = (("imagepod.dev/worker", state), ("imagepod.dev/gpu-memory-megabytes", "8192"))
    room = {"nvidia.com/gpu": "4", "cpu": "8", "memory": "8Gi", "imagepod.dev/job-slots": "2"}
    return NodeFacts(name, ready, False, labels, (), tuple(room.items()))  # noqa: FBT003


def observed(of: GPUWorkerJob | None = None, *pods: Pod, **more: Any) -> Observed:
    """What is known of a job, by default of one whose Job is there, beside one node."""
    found: Thing = {"job": job(), "nodes": (node(),)} | more
    return Observed(of or item(), pods=pods, **found)
