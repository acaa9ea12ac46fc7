"""Real GPUs, as nvidia-smi and the kernel show them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from devctl.agents.nvidia_smi import table
from devctl_dra_plugin.devices import Device

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FIELDS = (
    *("index", "uuid", "name", "memory.total", "pci.bus_id"),
    *("mig.mode.current", "remapped_rows.failure"),
)
_MINOR = re.compile(r"^Device Minor:\s*([0-9]+)", re.MULTILINE)
_LONGEST = 200
"""Characters of an error that are told."""
_MODEL_LENGTH = 64
"""Of an attribute of type string."""
_WORDS_OF_TROUBLE = ("ERR!", "Unknown Error", "GPU is lost", "requires reset")


def ask(program: str) -> str:
    """nvidia-smi's table of GPUs, with the columns FIELDS; raises ToolError."""
    return table(program, FIELDS, lambda said: said[:_LONGEST])


def parse(table: str, numa: Mapping[str, int], minors: Mapping[str, int]) -> list[Device]:
    """The GPUs of a table of nvidia-smi's.

    A GPU that is divided into MIG instances is left out: whoever got it would get none of them.

    Args:
        table: Its rows, with the columns FIELDS.
        numa: NUMA nodes by address on the PCI bus.
        minors: Device numbers by that address; those that are not there are as the index.
    """
    found = []
    for line in table.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) != len(FIELDS) or not words[0].isdecimal() or words[5] == "Enabled":
            continue
        index, address = int(words[0]), pci_address(words[4])
        found.append(
            Device(
                index=index,
                uuid=words[1],
                model=words[2][:_MODEL_LENGTH],
                memory_mib=int(words[3]) if words[3].isdecimal() else 0,
                numa_node=numa.get(address),
                minor=minors.get(address, index),
                problem=_problem(words),
            )
        )
    return found


def numa_nodes(sys: Path) -> dict[str, int]:
    """NUMA nodes of NVIDIA's devices by their address, where the kernel knows them."""
    found = {}
    for folder in (sys / "bus/pci/drivers/nvidia").glob("*:*:*.*"):
        try:
            node = int((folder / "numa_node").read_text())
        except (OSError, ValueError):
            continue
        if node >= 0:
            found[folder.name.lower()] = node
    return found


def minor_numbers(proc: Path) -> dict[str, int]:
    """The numbers of /dev/nvidiaN by address: they are not always nvidia-smi's indexes."""
    found = {}
    for file in (proc / "driver/nvidia/gpus").glob("*/information"):
        try:
            said = _MINOR.search(file.read_text())
        except OSError:
            continue
        if said:
            found[file.parent.name.lower()] = int(said[1])
    return found


def pci_address(bus_id: str) -> str:
    """An address as the kernel writes it.

    >>> pci_address("00000000:3B:00.0")
    '0000:3b:00.0'
    """
    return bus_id.lower()[-12:]


def _problem(words: list[str]) -> str:
    for word in words:
        if any(trouble in word for trouble in _WORDS_OF_TROUBLE):
            return f"nvidia-smi says `{word[:64]}`"
    if words[6] == "Yes":
        return "defective memory could not be replaced (remapped_rows.failure)"
    return ""
