"""What a node is, and what is free on it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from devctl.api.gpu_worker_job import JOB_APP, NAMESPACE
from devctl.api.pod_requests import requested
from devctl.api.quantities import GPU, parse_quantity
from devctl_gpu_worker_agent.gpus import Card, megabytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ENDED = {"Succeeded", "Failed"}


@dataclass(frozen=True)
class Facts:
    """What a node registers as.

    Attributes:
        node_name: Its name in the cluster.
        hostname: Its own.
        gpu_count: Its GPUs.
        gpu_type: What these are, for people.
        gpu_memory: Of each of its GPUs at least, in megabytes.
        cpu_cores: Those that pods may use, rounded down.
        memory: What pods may use, in megabytes.
    """

    node_name: str
    hostname: str
    gpu_count: int
    gpu_type: str
    gpu_memory: int
    cpu_cores: int
    memory: int


@dataclass(frozen=True)
class Free:
    """What a node has left.

    Attributes:
        gpu_memory: Over all GPUs, in megabytes: measured, or that of the GPUs that no pod has.
        cpu_cores: Those that no pod requests, rounded down.
        jobs: How many jobs of the API are there.
        problem: What is wrong with its GPUs; empty if nothing is.
    """

    gpu_memory: int
    cpu_cores: int
    jobs: int
    problem: str = ""


@dataclass
class Held:
    """What the pods of a node hold, added up one by one.

    Attributes:
        cpu: Cores.
        gpus: GPUs of the device plugin.
        jobs: Pods of jobs of the API.
    """

    cpu: Decimal = Decimal(0)
    gpus: int = 0
    jobs: int = 0

    def add(self, pod: Mapping[str, Any]) -> None:
        """Count a pod, unless it has ended."""
        if pod.get("status", {}).get("phase") in _ENDED:
            return
        amounts = requested(pod.get("spec", {}))
        self.cpu += amounts.get("cpu", Decimal(0))
        self.gpus += int(amounts.get(GPU, 0))
        metadata = pod.get("metadata", {})
        ours = (metadata.get("labels") or {}).get("app") == JOB_APP
        self.jobs += ours and metadata.get("namespace") == NAMESPACE


def facts_of(node: Mapping[str, Any], cards: Iterable[Card]) -> Facts:
    """What a Node registers as.

    Raises:
        ValueError: Its status has what is not a quantity.
    """
    found = list(cards)
    name = str(node["metadata"]["name"])
    status = node.get("status", {})
    has = status.get("allocatable") or {}
    addresses = status.get("addresses") or ()
    names = (str(each.get("address") or "") for each in addresses if each.get("type") == "Hostname")
    return Facts(
        node_name=name,
        hostname=next(filter(None, names), name),
        gpu_count=len(found),
        gpu_type=", ".join(sorted({card.model for card in found})) or "none",
        gpu_memory=min((card.memory for card in found), default=0),
        cpu_cores=int(parse_quantity(has.get("cpu", "0"))),
        memory=megabytes(has.get("memory", "0")),
    )


def free_of(node: Mapping[str, Any], cards: Iterable[Card], held: Held) -> Free:
    """What a Node has left.

    Raises:
        ValueError: Its status has what is not a quantity.
    """
    found = list(cards)
    has = node.get("status", {}).get("allocatable") or {}
    cores = parse_quantity(has.get("cpu", "0")) - held.cpu
    problems = [card.problem for card in found if card.problem]
    return Free(
        gpu_memory=_free_memory(found, held.gpus),
        cpu_cores=max(0, int(cores)),
        jobs=held.jobs,
        problem=problems[0] if problems else "",
    )


def _free_memory(cards: list[Card], held: int) -> int:
    well = [card for card in cards if not card.problem]
    measured = [max(0, card.memory - card.used) for card in well if card.used is not None]
    whole = sorted(card.memory for card in well if card.used is None)
    # Which ones pods hold is not known: the largest, so that no more is promised than there is.
    return sum(measured) + sum(whole[: max(0, len(whole) - held)])
