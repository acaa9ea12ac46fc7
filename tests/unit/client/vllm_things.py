"""vLLM runs, the CachePlan and GPUs by claim, as an API server returns them."""

from __future__ import annotations

from typing import Any

from devctl.api.kinds import CACHE_PLAN, VLLM_RUN
from devctl.api.vllm_run import DRIVER, LABEL, pod_name
from devctl.kube.resources import NodeCacheStatus
from unit.client.fake_cluster import USER
from unit.client.objects import NAMESPACE, Thing, ago

RUNS, PLANS, NODE_CACHES = VLLM_RUN.plural, CACHE_PLAN.plural, NodeCacheStatus.plural
SLICES, CLAIMS = "resourceslices", "resourceclaims"
UNKNOWN_KIND = (404, "the server could not find the requested resource")
VLLM = {"type": "image", "name": "vllm", "scope": "allNodes", "image": {"ref": "vllm/openai:v1"}}


def vllm_run(
    name: str = "my-demo", phase: str = "", /, *, spec: Thing | None = None, **status: Any
) -> Thing:
    """A run; one that is not Pending has its GPU, and its program has started."""
    if phase in {"Serving", "Running", "Succeeded", "Failed"}:
        device = {"index": 0, "uuid": "GPU-0", "model": "H100", "node": "gpu-1"}
        status = {
            "gpus": 1,
            "node": "gpu-1",
            "devices": [device],
            "startedAt": ago(minutes=4),
        } | status
    if phase in {"Serving", "Running"}:
        ready = {"type": "Ready", "status": "True", "reason": phase, "message": ""}
        status = {"conditions": [ready]} | status
    if phase == "Serving":
        status = {"url": f"http://{name}-vllm.{NAMESPACE}.svc:8000"} | status
    wanted: Thing = {
        "owner": USER,
        "command": ["vllm", "serve", "facebook/opt-125m"],
        "image": "vllm/openai:v1",
        "port": 8000,
    }
    return {
        "apiVersion": VLLM_RUN.api_version,
        "kind": VLLM_RUN.name,
        "metadata": {"name": name, "namespace": NAMESPACE, "creationTimestamp": ago(minutes=5)},
        "spec": wanted | (spec or {}),
        "status": {"phase": phase, **status} if phase else {},
    }


def run_pod(log: str = "", of: str = "my-demo") -> Thing:
    """The pod of a run, which has printed something."""
    meta = {"name": pod_name(of), "namespace": NAMESPACE, "labels": {LABEL: of}}
    return {"metadata": meta, "spec": {}, "status": {}, "log": log}


def gpu(number: int, **more: Any) -> Thing:
    """A GPU in a slice."""
    attributes = {
        "index": {"int": number},
        "uuid": {"string": f"GPU-{number}"},
        "model": {"string": "H100"},
        f"{DRIVER}/madeUp": {"bool": True},
    }
    capacity = {"memory": {"value": "80Gi"}}
    return {"name": f"gpu-{number}", "attributes": attributes, "capacity": capacity, **more}


def gpu_slice(node: str, *devices: Thing, generation: int = 1, driver: str = DRIVER) -> Thing:
    """What a node offers."""
    pool = {"name": node, "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": list(devices)}
    return {"metadata": {"name": f"{node}-{generation}-{driver}"}, "spec": spec}


def gpu_claim(
    name: str,
    *held: tuple[str, str],
    namespace: str = NAMESPACE,
    run: bool = False,
    admin: bool = False,
) -> Thing:
    """A claim that holds devices of nodes; one of a run is called as the run."""
    results = [
        {"driver": DRIVER, "pool": node, "device": device, "request": "gpus", "adminAccess": admin}
        for node, device in held
    ]
    labels = {LABEL: name} if run else {}
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "status": {"allocation": {"devices": {"results": results}}} if held else {},
    }


def cache_plan(*items: Thing) -> Thing:
    """The CachePlan."""
    about = {"apiVersion": CACHE_PLAN.api_version, "kind": CACHE_PLAN.name}
    return {**about, "metadata": {"name": "default"}, "spec": {"items": list(items)}}


def node_cache(node: str, *, errors: tuple[str, ...] = (), **parts: list[Thing]) -> Thing:
    """What a node's cache has: `images`, `gitRepos` and `models`."""
    about = {"apiVersion": CACHE_PLAN.api_version, "kind": NodeCacheStatus.name}
    status = {**parts, "errors": list(errors), "lastUpdate": ago(minutes=1)}
    return {**about, "metadata": {"name": node}, "status": status}
