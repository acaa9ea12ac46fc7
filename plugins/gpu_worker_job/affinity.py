"""Which nodes a job's pod may have, and which it prefers.

Strategies are terms that kube-scheduler weighs when it places the pod: of jobs that are submitted
together, each then counts those before it. The term of one strategy must not move the pods of
another, and an affinity between pods works both ways, also for the pod that came first. So
leastLoaded is a spread constraint, which moves its own pod alone, and packed looks for its own
kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from devctl.api.gpu_worker_job import JOB_APP, STRATEGY
from devctl.api.gpu_worker_node import GPU_MEMORY, STATE, State
from devctl.api.gpu_workload import CHEAP
from gpu_worker_job.costs import by_cost

Term = dict[str, Any]
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_WEIGHT = 100
_NODE = "kubernetes.io/hostname"
_BESIDE_PACKED: Term = {
    "weight": _WEIGHT,
    "podAffinityTerm": {
        "labelSelector": {"matchLabels": {"app": JOB_APP, STRATEGY: "packed"}},
        "topologyKey": _NODE,
    },
}
"""A node counts once for each such job on it."""
_FEWEST_JOBS: Term = {
    "maxSkew": 1,
    "topologyKey": _NODE,
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app": JOB_APP}},
}
_CHEAP: Term = {
    "weight": _WEIGHT,
    "preference": {"matchExpressions": [{"key": CHEAP, "operator": "In", "values": ["true"]}]},
}
"""Of nodes that cost the same, or have no prices."""


def affinity(spec: Mapping[str, Any], workers: Iterable[Mapping[str, Any]]) -> dict[str, Term]:
    """The affinity of the pod.

    Strategies without one prefer nothing themselves: the scheduler favours nodes that are emptier
    or have the image, and of equal nodes it takes any.

    >>> affinity({"gpuMemoryMegabytes": 0, "schedulingStrategy": "random"}, []).keys()
    dict_keys(['nodeAffinity'])

    Args:
        spec: Of the GPUWorkerJob.
        workers: All GPUWorkerNodes.
    """
    terms = [{"matchExpressions": required(spec)}]
    found: dict[str, Term] = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}
    if spec["schedulingStrategy"] == "costOptimized":
        found["nodeAffinity"][_PREFERRED] = by_cost(spec, workers) or [_CHEAP]
    elif spec["schedulingStrategy"] == "packed":
        found["podAffinity"] = {_PREFERRED: [_BESIDE_PACKED]}
    return found


def spread(spec: Mapping[str, Any]) -> list[Term]:
    """The pod's `topologySpreadConstraints`."""
    return [_FEWEST_JOBS] if spec["schedulingStrategy"] == "leastLoaded" else []


def required(spec: Mapping[str, Any]) -> list[Term]:
    """What a node's labels must say.

    >>> [term["key"] for term in required({"gpuMemoryMegabytes": 8192})]
    ['imagepod.dev/worker', 'imagepod.dev/gpu-memory-megabytes']
    """
    terms: list[Term] = [{"key": STATE, "operator": "In", "values": [str(State.ACTIVE)]}]
    if memory := spec["gpuMemoryMegabytes"]:
        terms.append({"key": GPU_MEMORY, "operator": "Gt", "values": [str(memory - 1)]})
    return terms
