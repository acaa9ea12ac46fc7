"""What GPUs the node has now: asked again and again, and remembered while nobody answers."""

from __future__ import annotations

import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.agents.nvidia_smi import ToolError
from devctl_dra_plugin import devices, nvidia

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from devctl_dra_plugin.devices import Device

log = logging.getLogger(__name__)

_ASK_EVERY = 30.0
"""Seconds between two questions to nvidia-smi: without its daemon, one takes a second of CPU."""
_PATIENCE = 3
"""Failures in a row until the GPUs count as unhealthy: one may be slow for once."""


class Inventory:
    """The node's GPUs.

    Args:
        node: Its name.
        made_up: How many to make up if it has none.
        clock: The monotonic clock.
        real: Asks for the real ones, or raises ToolError; None if it has none.
    """

    def __init__(
        self,
        node: str,
        made_up: int,
        clock: Callable[[], float],
        real: Callable[[], list[Device]] | None,
    ) -> None:
        """Ask nothing yet."""
        self._node, self._made_up, self._clock, self._real = node, made_up, clock, real
        self._asked = -_ASK_EVERY
        self._failures = 0
        self._seen: list[Device] = []
        self._said = ""

    def look(self, annotations: Mapping[str, str]) -> list[Device]:
        """The GPUs, with what is wrong with each.

        Args:
            annotations: The node's.
        """
        said = ""
        count, marked = self._made_up, frozenset[int]()
        try:
            count = devices.made_up_count(annotations, self._made_up)
            marked = devices.withdrawn(annotations)
        except devices.SettingError as error:
            said = str(error)
        if said and said != self._said:
            log.warning("%s; ignored", said)
        self._said = said
        return devices.with_problems(self._devices(count), marked)

    def _devices(self, made_up: int) -> list[Device]:
        if self._real is None:
            return devices.made_up(self._node, made_up)
        if self._clock() >= self._asked + _ASK_EVERY:
            self._ask(self._real)
            self._asked = self._clock()
        return self._seen

    def _ask(self, real: Callable[[], list[Device]]) -> None:
        try:
            self._seen = devices.with_lost(self._seen, real())
        except ToolError as error:
            self._failures += 1
            log.warning("%s (%d in a row)", error, self._failures)
            if self._failures >= _PATIENCE:
                self._seen = [replace(each, problem=str(error)) for each in self._seen]
        else:
            self._failures = 0


def real_gpus(
    sys: Path = Path("/sys"), proc: Path = Path("/proc")
) -> Callable[[], list[Device]] | None:
    """What asks for the real GPUs; None where NVIDIA's container runtime has put no nvidia-smi."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    return lambda: nvidia.parse(
        nvidia.ask(program), nvidia.numa_nodes(sys), nvidia.minor_numbers(proc)
    )
