"""Which nodes a job's pod may have, and which it prefers.

Strategies are terms that kube-scheduler weighs when it places the pod: of jobs that are submitted
together, each then counts those before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devctl.api.gpu_worker_job import JOB_APP
from devctl.api.gpu_worker_node import GPU_MEMORY, STATE, State
from devctl.api.gpu_workload import CHEAP

Term = dict[str, Any]
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_WEIGHT = 100
_BESIDE_JOBS: Term = {
    "weight": _WEIGHT,
    "podAffinityTerm": {
        "labelSelector": {"matchLabels": {"app": JOB_APP}},
        "topologyKey": "kubernetes.io/hostname",
    },
}
"""A node counts once for each job on it."""
_CHEAP: Term = {
    "weight": _WEIGHT,
    "preference": {"matchExpressions": [{"key": CHEAP, "operator": "In", "values": ["true"]}]},
}
_STRATEGIES: Mapping[str, tuple[str, Term]] = {
    "leastLoaded": ("podAntiAffinity", _BESIDE_JOBS),
    "packed": ("podAffinity", _BESIDE_JOBS),
    "costOptimized": ("nodeAffinity", _CHEAP),
}
"""What each strategy prefers. The others prefer nothing themselves: the scheduler favours nodes
that have the image, and of equal nodes it takes any."""


def affinity(spec: Mapping[str, Any]) -> dict[str, Term]:
    """The affinity of the pod.

    >>> affinity({"gpuMemoryMegabytes": 0, "schedulingStrategy": "random"}).keys()
    dict_keys(['nodeAffinity'])
    """
    terms = [{"matchExpressions": required(spec)}]
    found: dict[str, Term] = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}
    if prefers := _STRATEGIES.get(spec["schedulingStrategy"]):
        kind, term = prefers
        found.setdefault(kind, {})[_PREFERRED] = [term]
    return found


def required(spec: Mapping[str, Any]) -> list[Term]:
    """What a node's labels must say.

    >>> [term["key"] for term in required({"gpuMemoryMegabytes": 8192})]
    ['imagepod.dev/worker', 'imagepod.dev/gpu-memory-megabytes']
    """
    terms: list[Term] = [{"key": STATE, "operator": "In", "values": [str(State.ACTIVE)]}]
    if memory := spec["gpuMemoryMegabytes"]:
        terms.append({"key": GPU_MEMORY, "operator": "Gt", "values": [str(memory - 1)]})
    return terms
