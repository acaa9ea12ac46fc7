"""The account of a node's GPUs, and of a cluster's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.client.gpu_ledger.devices import DeviceKey, Holder


class Trouble(StrEnum):
    """What can be wrong with an account."""

    OFFERED_TWICE = "OfferedTwice"
    """The same GPUs are handed out in two ways that do not know of each other."""
    HELD_TWICE = "HeldTwice"
    """Two claims hold a GPU."""
    COUNTED_TWICE = "CountedTwice"
    """A pod has a claim for what it also takes of its node's resource."""
    RESERVED_TOO = "ReservedToo"
    """A claim holds a GPU that somebody has reserved on its host."""
    NOT_OFFERED = "NotOffered"
    """A claim holds a GPU that its node does not offer any more."""
    OVERBOOKED = "Overbooked"
    """Pods have more GPUs of a resource than their node lists."""


class Problem(NamedTuple):
    """What is wrong, and what is done about it."""

    trouble: Trouble
    node: str
    found: str
    fix: str


@dataclass(frozen=True)
class Resource:
    """GPUs that a node lists as a resource; a device plugin offers them."""

    name: str
    capacity: int
    allocatable: int
    """How many of them are healthy."""
    requested: int
    """By pods there, without what claims stand for."""

    @property
    def unavailable(self) -> int:
        """How many nobody else can have."""
        return max(0, self.capacity - self.allocatable) + self.requested


@dataclass(frozen=True)
class Gpu:
    """One GPU that is offered by claim, whichever drivers and nodes do so."""

    offers: tuple[DeviceKey, ...]
    """As which devices."""
    uuid: str
    index: int | None
    made_up: bool
    """Whether it exists in name only."""
    holders: tuple[Holder, ...]
    """For whom claims hold it."""
    reserved_for: str
    """Who has reserved it on its host."""
    withdrawn: bool
    """Whether new claims do not get it: it is reserved, unhealthy, or its driver does not know."""

    @property
    def unavailable(self) -> bool:
        """Whether nobody else can have it."""
        return bool(self.holders) or self.withdrawn


@dataclass(frozen=True)
class NodeLedger:
    """All GPUs of a node.

    What a node lists and what it offers by claim may be the same GPUs, as it does not say which
    those of the resource are. So they count as one as far as possible: `total` and `free` are what
    there is at least.
    """

    name: str
    resources: Sequence[Resource]
    gpus: Sequence[Gpu]

    @property
    def total(self) -> int:
        """How many GPUs there are."""
        return len(self.made_up) + max(len(self.real), self.listed)

    @property
    def free(self) -> int:
        """How many nobody has."""
        made_up = sum(not gpu.unavailable for gpu in self.made_up)
        gone = sum(gpu.unavailable for gpu in self.real)
        gone += sum(resource.unavailable for resource in self.resources)
        return made_up + max(0, max(len(self.real), self.listed) - gone)

    @property
    def listed(self) -> int:
        """How many the node lists as resources."""
        return sum(resource.capacity for resource in self.resources)

    @property
    def real(self) -> Sequence[Gpu]:
        """Those offered by claim that exist."""
        return [gpu for gpu in self.gpus if not gpu.made_up]

    @property
    def made_up(self) -> Sequence[Gpu]:
        """The others."""
        return [gpu for gpu in self.gpus if gpu.made_up]


@dataclass(frozen=True)
class Ledger:
    """All GPUs of a cluster, and what is wrong with how they are counted."""

    nodes: Sequence[NodeLedger]
    """Those that have any, by name."""
    problems: Sequence[Problem]

    @property
    def total(self) -> int:
        """How many GPUs there are."""
        return sum(node.total for node in self.nodes)

    @property
    def free(self) -> int:
        """How many nobody has."""
        return sum(node.free for node in self.nodes)

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "total": self.total,
            "free": self.free,
            "nodes": [_node(node) for node in self.nodes],
            "problems": [_problem(each) for each in self.problems],
        }


def _problem(problem: Problem) -> dict[str, Any]:
    trouble, node, found, fix = problem
    return {"reason": str(trouble), "node": node, "found": found, "fix": fix}


def _node(node: NodeLedger) -> dict[str, Any]:
    resources = [
        {
            "name": each.name,
            "capacity": each.capacity,
            "allocatable": each.allocatable,
            "requested": each.requested,
        }
        for each in node.resources
    ]
    found = {"node": node.name, "total": node.total, "free": node.free}
    return {**found, "resources": resources, "devices": [_gpu(gpu) for gpu in node.gpus]}


def _gpu(gpu: Gpu) -> dict[str, Any]:
    return {
        "offers": [f"{key.driver}/{key.pool}/{key.name}" for key in gpu.offers],
        "uuid": gpu.uuid,
        "index": gpu.index,
        "madeUp": gpu.made_up,
        "holders": [holder._asdict() for holder in gpu.holders],
        "reservedFor": gpu.reserved_for,
        "withdrawn": gpu.withdrawn,
    }
