"""What a job's pod is made from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from apply.manifests import CREATE_ONLY
from apply.values import entries

from devctl.api.ephemeral_acceleration_job import APP, MADE_FROM, claim_name, pod_name

GPU = "nvidia.com/gpu"
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
_NODE_SECONDS = 60
"""A node that does not answer for so long is given up, and the job with it."""


def made_from(job: Mapping[str, Any]) -> str:
    """A digest of the part of the spec that shapes the pod."""
    spec = job["spec"]
    shaping = {name: spec[name] for name in _FIELDS if name in spec}
    return sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:32]


def pod_of(job: Mapping[str, Any], pods: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The job's own pod among those with its labels.

    One of an earlier job of that name is another's: it is waited for, not counted as a start.
    """
    metadata = job["metadata"]
    for pod in pods:
        owners = {owner["uid"] for owner in pod["metadata"].get("ownerReferences") or []}
        if pod["metadata"]["name"] == pod_name(metadata["name"]) and metadata["uid"] in owners:
            return pod
    return None


def pod_values(job: Mapping[str, Any]) -> dict[str, Any]:
    """What the pod's template prints."""
    name, spec = job["metadata"]["name"], job["spec"]
    gpus = spec["resources"]["gpu"]
    return {
        "name": pod_name(name),
        "labels": APP,
        # Once made, no later run changes it, nor one beside this run.
        "annotations": {MADE_FROM: made_from(job), CREATE_ONLY: "true"},
        "claim": claim_name(name),
        "image": spec["image"],
        "command": spec.get("command"),
        "environment": environment(spec),
        "resources": _resources(spec["resources"], gpus),
        "tolerations": _tolerations(gpus),
        "deadline": spec.get("activeDeadlineSeconds"),
    }


def environment(spec: Mapping[str, Any]) -> list[dict[str, str]]:
    """The entries of the container's `env`, in an order that does not change."""
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


def _resources(wanted: Mapping[str, Any], gpus: int) -> dict[str, dict[str, str]]:
    """Memory is what it is given and no more; CPU that nobody else needs is its own to use."""
    memory = str(wanted["memory"])
    limits = {"memory": memory} | ({GPU: str(gpus)} if gpus else {})
    return {"requests": {"cpu": str(wanted["cpu"]), "memory": memory}, "limits": limits}


def _tolerations(gpus: int) -> list[dict[str, Any]]:
    lost = [
        {
            "key": f"node.kubernetes.io/{trouble}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _NODE_SECONDS,
        }
        for trouble in ("not-ready", "unreachable")
    ]
    reserved = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
    return lost + (reserved if gpus else [])
