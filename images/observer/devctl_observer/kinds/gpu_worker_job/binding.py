"""Which requirement of a job no registered node meets."""

from __future__ import annotations

from collections.abc import Sequence

from devctl.api.gpu_worker_job import SLOTS
from devctl.api.gpu_worker_node import GPU_MEMORY, STATE, State
from devctl.api.placing import NodeFacts
from devctl.api.quantities import GPU, parse_quantity
from devctl_observer.kinds.gpu_worker_job.model import GPUWorkerJobSpec

_MEGABYTE = 1 << 20


def binding(spec: GPUWorkerJobSpec, nodes: Sequence[NodeFacts]) -> str:
    """The requirement that no node meets even if it is empty, in words; empty if one meets all.

    Requirements are tried in order, each on the nodes that meet those before it.
    """
    there = [node for node in nodes if dict(node.labels).get(STATE) == State.ACTIVE]
    if not there:
        return "no node is active: register one, or look at `devctl workers nodes`"
    for word, wanted, amount in (
        ("megabytes of GPU memory", spec.gpu_memory_megabytes, _gpu_memory),
        ("GPUs", spec.gpus, _gpus),
        ("cores", spec.cpu_cores, _cores),
        ("megabytes of memory", spec.memory_megabytes, _memory),
        ("job slots", 1, _slots),
    ):
        fitting = [node for node in there if amount(node) >= wanted]
        if not fitting:
            most = max(amount(node) for node in there)
            return f"it needs {wanted} {word}, and no node that fits otherwise has more than {most}"
        there = fitting
    return ""


def _gpu_memory(node: NodeFacts) -> int:
    text = dict(node.labels).get(GPU_MEMORY, "0")
    return int(text) if text.isascii() and text.isdigit() else 0


def _gpus(node: NodeFacts) -> int:
    return _whole(node, GPU)


def _cores(node: NodeFacts) -> int:
    return _whole(node, "cpu")


def _memory(node: NodeFacts) -> int:
    return _whole(node, "memory") // _MEGABYTE


def _slots(node: NodeFacts) -> int:
    return _whole(node, SLOTS)


def _whole(node: NodeFacts, resource: str) -> int:
    return int(parse_quantity(dict(node.allocatable).get(resource, "0")))
