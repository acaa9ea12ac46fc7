"""A node's GPUs: real ones, or made-up ones that say so."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from devctl_dra_plugin.names import DRIVER, MADE_UP, MAX_DEVICES, UNHEALTHY, device_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MADE_UP_MEMORY = 16 * 1024
_NUMA_NODES = 2


class SettingError(ValueError):
    """A node's annotation that makes no sense."""


@dataclass(frozen=True)
class Device:
    """A GPU, as it is offered."""

    index: int
    uuid: str
    model: str
    memory_mib: int
    numa_node: int | None
    """None if the node does not say."""
    minor: int | None
    """The number of /dev/nvidiaN; None if it is made up."""
    problem: str = ""
    """Why nobody new should be given it."""

    @property
    def name(self) -> str:
        """Its name in the node's pool."""
        return device_name(self.index)

    @property
    def made_up(self) -> bool:
        """Whether it does not exist."""
        return self.minor is None


def made_up(node: str, count: int) -> list[Device]:
    """GPUs that do not exist: scheduling is real, computing is not.

    Their UUIDs are the same after a restart.
    """
    return [
        Device(
            index=index,
            uuid=f"fake-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{index}.{node}.{DRIVER}')}",
            model="made up",
            memory_mib=_MADE_UP_MEMORY,
            numa_node=index * _NUMA_NODES // count,
            minor=None,
        )
        for index in range(count)
    ]


def made_up_count(annotations: Mapping[str, str], default: int) -> int:
    """How many GPUs to make up, as the node's annotation or else the plugin's setting says.

    Raises:
        SettingError: The annotation is not a number, or too large.
    """
    said = annotations.get(MADE_UP, "").strip()
    return count_of(said, MADE_UP) if said else default


def count_of(said: str, where: str) -> int:
    """A number of GPUs.

    Raises:
        SettingError: It is none, or too large.
    """
    if not (said.isascii() and said.isdecimal() and int(said[:4]) <= MAX_DEVICES):
        raise SettingError(f"{where} must be a number from 0 to {MAX_DEVICES}, not `{said[:32]}`")
    return int(said)


def withdrawn(annotations: Mapping[str, str]) -> frozenset[int]:
    """The indexes that the node's annotation calls unhealthy.

    Raises:
        SettingError: It is not a list of numbers.
    """
    said = annotations.get(UNHEALTHY, "").strip()
    return frozenset(count_of(each.strip(), UNHEALTHY) for each in said.split(",") if said)


def with_problems(devices: Iterable[Device], indexes: frozenset[int]) -> list[Device]:
    """The devices, of which these have a problem that an administrator has noted."""
    problem = f"the node's annotation {UNHEALTHY} names it"
    return [
        replace(each, problem=problem) if each.index in indexes and not each.problem else each
        for each in devices
    ]


def with_lost(before: Sequence[Device], now: Sequence[Device]) -> list[Device]:
    """The devices, with those that were there before and have since disappeared.

    A GPU that falls off its bus is no longer listed, while containers still hold it.
    """
    listed = {each.uuid for each in now} | {each.index for each in now}
    lost = [
        replace(each, problem="nvidia-smi no longer lists it")
        for each in before
        if each.uuid not in listed and each.index not in listed
    ]
    return sorted([*now, *lost], key=lambda each: each.index)
