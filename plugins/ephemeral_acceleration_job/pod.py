"""The contents of a job's pod."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from apply.manifests import CREATE_ONLY
from apply.pods import lost_node_tolerations
from apply.values import entries

from devctl.api.ephemeral_acceleration_job import APP, MADE_FROM, claim_name, pod_name
from devctl.api.quantities import GPU
from ephemeral_acceleration_job.queue import queue_labels, resources

_FIELDS = (
    "model",
    "input",
    "output",
    "weights",
    "resources",
    "image",
    "command",
    "activeDeadlineSeconds",
)


def made_from(job: Mapping[str, Any], flavors: Sequence[Mapping[str, Any]] = ()) -> str:
    """A digest of what determines the pod: a part of the spec and, in a queue, of the flavor."""
    spec = job["spec"]
    shaping = {name: spec[name] for name in _FIELDS if name in spec}
    if labels := queue_labels(job):
        # Outside of queues, the digest is as in releases without them: no pod is recreated.
        shaping |= {"queue": labels, "requests": resources(job, flavors)}
    return sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:32]


def pod_of(job: Mapping[str, Any], pods: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The job's own pod among those with its labels.

    The pod of an earlier job of the same name is ignored: its end is awaited, and it does not count
    as a start.
    """
    metadata = job["metadata"]
    for pod in pods:
        owners = {owner["uid"] for owner in pod["metadata"].get("ownerReferences") or []}
        if pod["metadata"]["name"] == pod_name(metadata["name"]) and metadata["uid"] in owners:
            return pod
    return None


def pod_values(job: Mapping[str, Any], flavors: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The values for the pod's template; `flavors` has every DevServerFlavor."""
    name, spec = job["metadata"]["name"], job["spec"]
    gpus = spec["resources"]["gpu"]
    return {
        "name": pod_name(name),
        "labels": APP | queue_labels(job),
        # No later or concurrent run changes an existing pod.
        "annotations": {MADE_FROM: made_from(job, flavors), CREATE_ONLY: "true"},
        "claim": claim_name(name),
        "image": spec["image"],
        "command": spec.get("command"),
        "environment": environment(spec),
        "resources": resources(job, flavors),
        "tolerations": _tolerations(gpus),
        "deadline": spec.get("activeDeadlineSeconds"),
    }


def environment(spec: Mapping[str, Any]) -> list[dict[str, str]]:
    """The entries of the container's `env`, in a stable order."""
    weights = spec.get("weights", {})
    values = {
        "MODEL": spec["model"],
        "INPUT_PATH": spec["input"]["path"],
        "INPUT_WAIT_SECONDS": spec["input"]["waitSeconds"],
        "OUTPUT_PATH": spec["output"]["path"],
        "WEIGHTS_PATH": weights.get("path"),
        "LABELS_PATH": weights.get("labelsPath"),
    }
    return entries({name: value for name, value in values.items() if value is not None})


def _tolerations(gpus: int) -> list[dict[str, Any]]:
    reserved = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
    return lost_node_tolerations() + (reserved if gpus else [])
