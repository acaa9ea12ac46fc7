"""Objects of a VLLMRun as the API server returns them, reduced to what matters."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from devctl_observer.judging.clocks import Clocks, to_text
from devctl_observer.judging.devices import Claim, Gpu, Held
from devctl_observer.judging.pods import Surroundings
from devctl_observer.kinds.vllm_run.holders import View
from devctl_observer.kinds.vllm_run.model import KIND
from devctl_observer.kinds.vllm_run.observed import Observed
from devctl_observer.kinds.vllm_run.status import run_status
from lightkube.resources.core_v1 import Pod

from devctl.api.vllm_run import DRIVER, LABEL, pod_name
from unit.observer.objects import NOW

if TYPE_CHECKING:
    from devctl_observer.kinds.vllm_run.model import VLLMRun

NAMESPACE, NAME, UID = "team", "one", "r-1"
STARTED = {"phase": "Starting", "reason": "NotServing", "startedAt": to_text(NOW), "node": "n1"}
OWNER = {"apiVersion": "canhazgpu.dev/v1alpha1", "kind": "VLLMRun", "name": NAME, "uid": UID}
APPLIED = {"type": "Applied", "status": "True", "reason": "Applied", "observedGeneration": 1}


def at(seconds: float) -> str:
    """The timestamp of a number of seconds after NOW."""
    return to_text(NOW + timedelta(seconds=seconds))


def run(status: dict[str, Any] | None = None, **spec: Any) -> VLLMRun:
    """A run that was created a minute ago."""
    metadata = {
        "name": NAME,
        "namespace": NAMESPACE,
        "uid": UID,
        "generation": 1,
        "resourceVersion": "5",
        "creationTimestamp": at(-60),
        **spec.pop("meta", {}),
    }
    given = {"command": ["vllm", "serve", "m"], "image": "i:1", "port": 8000} | spec
    return KIND.parse({"metadata": metadata, "spec": given, "status": status or {}})


def pod(phase: str = "Running", node: str | None = "n1", **changes: Any) -> Pod:
    """Its pod; `state` is its container's, `ready` whether its port answers."""
    state = changes.pop("state", {"running": {"startedAt": at(-10)}})
    ready = changes.pop("ready", False)
    meta, conditions = changes.pop("meta", {}), changes.pop("conditions", [])
    scheduled = {
        "type": "PodScheduled",
        "status": "True" if node else "False",
        "reason": None if node else "Unschedulable",
        "lastTransitionTime": at(-20),
        **changes.pop("scheduled", {}),
    }
    is_ready = {"type": "Ready", "status": "True" if ready else "False"}
    container = {
        "name": "vllm",
        "image": "i:1",
        "imageID": "",
        "ready": ready,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }
    metadata = {
        "name": pod_name(NAME),
        "namespace": NAMESPACE,
        "uid": "p-1",
        "labels": {LABEL: NAME},
        "ownerReferences": [OWNER],
        "creationTimestamp": at(-30),
    }
    return msgspec.convert(
        {
            "metadata": metadata | meta,
            "spec": {"containers": [], "nodeName": node},
            "status": {
                "phase": phase,
                "conditions": [scheduled, is_ready, *conditions],
                "containerStatuses": [container] if node else [],
                **changes,
            },
        },
        Pod,
    )


def exited(code: int, message: str = "", reason: str = "Error") -> dict[str, Any]:
    """The state of a container that ran from 10 s ago to 5 s ago."""
    times = {"startedAt": at(-10), "finishedAt": at(-5)}
    return {"terminated": {"exitCode": code, "reason": reason, "message": message, **times}}


def gpus(node: str, count: int, sick: tuple[int, ...] = ()) -> list[Gpu]:
    """The GPUs of a node."""
    return [
        Gpu(node, f"gpu-{n}", n, f"GPU-{node}-{n}", "H100", unhealthy=n in sick)
        for n in range(count)
    ]


def claim(*numbers: int, node: str = "n1", **changes: Any) -> Claim:
    """The run's claim, which holds these GPUs of a node."""
    held = tuple(Held(node, DRIVER, f"gpu-{number}", DRIVER) for number in numbers)
    return Claim("c-1", held, NAME, owners=frozenset([UID]))._replace(**changes)


def seen(of: VLLMRun, a_pod: Pod | None = None, **changes: Any) -> Observed:
    """What was observed of a run on two nodes, of which the first has four GPUs."""
    first = Observed(of, claim=claim(), view=View(gpus("n1", 4)), around=Surroundings())
    nodes = frozenset(changes.pop("nodes", ["n1", "n2"]))
    return replace(first, pod=a_pod, nodes=nodes, **changes)


def told(observed: Observed, seconds: float = 0, *, sure: bool = True) -> dict[str, Any]:
    """Its status some seconds from now, by both clocks or by ours alone."""
    now = NOW + timedelta(seconds=seconds)
    return run_status(observed, Clocks(now, now if sure else None))
