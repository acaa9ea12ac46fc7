"""The contents of a run's pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apply.manifests import CREATE_ONLY
from apply.pods import lost_node_tolerations, preferred_node
from apply.values import entries

from devctl.api.gpu_workload import PRIORITIES
from devctl.api.quantities import GPU
from devctl.api.queues import Priority
from devctl.api.vllm_run import GPUS, REPO, REQUEST, claim_name, gpus_of, pod_name
from vllm_run.checkout import checkout_values, folder_of, search_path
from vllm_run.mounts import model_variables, models_folder
from vllm_run.placement import cached
from vllm_run.plan import Plans, image_of, repo_of

HOME = "/home/vllm"
"""The home folder, which is empty at first: vLLM and the hub's client keep their files there."""

_ACCOUNT = {"HOME": HOME, "USER": "vllm", "LOGNAME": "vllm"}
"""Images know no user 1000, whose name torch's compiler looks up."""


def pod_values(run: Mapping[str, Any], plans: Plans) -> dict[str, Any]:
    """The values for the pod's template.

    Raises:
        ApplyError: The CachePlan lacks what the run names.
    """
    spec, name = run["spec"], str(run["metadata"]["name"])
    image, repo = image_of(spec, plans), repo_of(spec, plans)
    return {
        "name": pod_name(name),
        # No later or concurrent run of the role changes an existing pod.
        "annotations": {CREATE_ONLY: "true", GPUS: str(gpus_of(spec))}
        | ({REPO: repo} if repo else {}),
        "claim": claim_name(name),
        "request": REQUEST,
        "priority_class": PRIORITIES[Priority.NORMAL][0],
        "preferred": [*preferred(spec), *cached(spec, plans, image)],
        "tolerations": _tolerations(),
        "image": image,
        "command": list(spec["command"]),
        "environment": environment(spec),
        "whole_secrets": whole_secrets(spec),
        "resources": resources(spec),
        "port": spec["port"] or None,
        "home": HOME,
        "checkout": checkout_values(run),
        "folder": folder_of(spec),
        "models": models_folder(spec),
    }


def environment(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of the container's `env`: of two of a name, that of a Secret counts."""
    own = {entry["name"]: entry["value"] for entry in spec.get("env", [])}
    given = _ACCOUNT | model_variables(spec) | own | search_path(spec, own)
    found: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in entries(given)}
    for secret in spec.get("secrets", []):
        if "key" in secret:
            variable = str(secret.get("env") or secret["key"])
            source = {"name": secret["name"], "key": secret["key"]}
            found[variable] = {"name": variable, "valueFrom": {"secretKeyRef": source}}
    return list(found.values())


def whole_secrets(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of the container's `envFrom`: Secrets of which all keys are variables."""
    secrets = spec.get("secrets", [])
    return [{"secretRef": {"name": s["name"]}} for s in secrets if "key" not in s]


def resources(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The requests, limits and claims of the container.

    Memory and local storage are limited to the request; CPU is not, so that idle cores can be used.
    """
    wanted = {name: str(value) for name, value in spec.get("resources", {}).items()}
    limits = {name: value for name, value in wanted.items() if name != "cpu"}
    return {"requests": wanted, "limits": limits, "claims": [{"name": REQUEST}]}


def preferred(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The terms by which the pod prefers a node: never requires it, nor names it itself."""
    return [preferred_node(spec["preferNode"])] if spec.get("preferNode") else []


def _tolerations() -> list[dict[str, Any]]:
    # Nodes that only take pods with GPUs.
    return [
        *lost_node_tolerations(),
        {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
    ]
