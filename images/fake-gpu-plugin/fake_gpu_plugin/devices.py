"""The simulated devices: their number and names, and the variables for a container."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RESOURCE = "nvidia.com/gpu"
COUNT = "FAKE_GPU_COUNT"
DEFAULT_COUNT = 4
MAX_COUNT = 64
"""More than any machine has."""


def count_from(environment: Mapping[str, str]) -> int:
    """How many devices the node gets.

    Raises:
        ValueError: The variable is not a valid number.
    """
    text = environment.get(COUNT, "") or str(DEFAULT_COUNT)
    if not (text.isascii() and text.isdecimal() and int(text) <= MAX_COUNT):
        raise ValueError(f"{COUNT} must be a number from 0 to {MAX_COUNT}, not `{text}`")
    return int(text)


def names(count: int) -> list[str]:
    """The devices' names, which show that they are not real.

    >>> names(2)
    ['fake-gpu-0', 'fake-gpu-1']
    """
    return [f"fake-gpu-{index}" for index in range(count)]


def unknown(wanted: Iterable[str], devices: Iterable[str]) -> list[str]:
    """Devices that the kubelet still knows from a time when there were more."""
    return sorted(set(wanted) - set(devices))


def environment_of(wanted: Iterable[str]) -> dict[str, str]:
    """A container's variables: NVIDIA's own, and one that shows that the devices are simulated.

    Despite the first, programs do not find CUDA; the second tells users why.
    """
    listed = ",".join(sorted(wanted, key=_index))
    return {"NVIDIA_VISIBLE_DEVICES": listed, "DEVCTL_FAKE_GPUS": listed}


def preferred(available: Iterable[str], needed: Iterable[str], size: int) -> list[str]:
    """The devices to allocate: the required ones, then those with the lowest numbers.

    >>> preferred(["fake-gpu-10", "fake-gpu-2", "fake-gpu-3"], ["fake-gpu-3"], 2)
    ['fake-gpu-3', 'fake-gpu-2']
    """
    chosen = sorted(set(needed), key=_index)
    others = sorted(set(available) - set(chosen), key=_index)
    return [*chosen, *others][:size]


def _index(name: str) -> tuple[int, str]:
    number = name.rpartition("-")[2]
    return (int(number) if number.isdecimal() else 0, name)
