"""What a Node is to say of the GPUWorkerNode that it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from devctl.api.gpu_worker_job import SLOTS
from devctl.api.gpu_worker_node import GPU_MEMORY, PRICES, STATE, Prices
from devctl.api.placing import NodeFacts
from devctl_observer.kinds.gpu_worker_node.model import Worker

_LABELS = (GPU_MEMORY, PRICES, STATE)
_EVER = datetime.max.replace(tzinfo=UTC)


class Marks(NamedTuple):
    """What we write of a Node.

    Attributes:
        labels: Its labels.
        slots: Jobs that it takes at once, as a quantity; None if it offers none.
    """

    labels: Mapping[str, str]
    slots: str | None


NONE = Marks({}, None)
"""Of a Node that belongs to no GPUWorkerNode."""


def chosen(workers: Iterable[Worker]) -> Worker | None:
    """The one of several with the same Node that it belongs to: the oldest.

    One that is being deleted has no Node any more.
    """
    staying = [worker for worker in workers if not worker.going]
    return min(staying, key=_age, default=None)


def _age(worker: Worker) -> tuple[datetime, str]:
    metadata = worker.metadata
    return metadata.creation_timestamp or _EVER, metadata.name


def wanted(worker: Worker | None) -> Marks:
    """What the Node of a GPUWorkerNode is to have, in every state of it.

    A node in maintenance keeps its slots, since jobs that run hold them.
    """
    if worker is None:
        return NONE
    spec = worker.spec
    prices = Prices.of({"prices": spec.prices}).label
    labels = {STATE: spec.state, GPU_MEMORY: str(spec.gpu_memory_megabytes), PRICES: prices}
    return Marks(labels, str(spec.max_concurrent_jobs))


def ours(node: NodeFacts) -> Marks:
    """What a Node has of it.

    The kubelet makes a resource allocatable once it is in the capacity, and takes both away
    together: what is allocatable is what counts.
    """
    labels, allocatable = dict(node.labels), dict(node.allocatable)
    return Marks({key: labels[key] for key in _LABELS if key in labels}, allocatable.get(SLOTS))


def change(have: Mapping[str, str], wants: Mapping[str, str]) -> dict[str, str | None]:
    """What to set, and with None what to remove, of the labels that are ours.

    >>> change({"imagepod.dev/worker": "active"}, {"imagepod.dev/worker": "error"})
    {'imagepod.dev/worker': 'error'}
    >>> change({"imagepod.dev/worker": "active"}, {})
    {'imagepod.dev/worker': None}
    """
    return {key: wants.get(key) for key in _LABELS if have.get(key) != wants.get(key)}
