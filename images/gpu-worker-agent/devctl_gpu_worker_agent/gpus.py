"""A node's GPUs, as nvidia-smi, ResourceSlices or the Node object show them. Pure.

All memory is in megabytes as NVIDIA counts them: of 2^20 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from devctl.api.quantities import GPU, parse_quantity
from devctl_gpu_worker_agent.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FIELDS = ("index", "uuid", "memory.total", "memory.used", "name")
"""The columns that nvidia-smi is asked for. A name may have commas, and so is the last."""
MEMORY_LABEL, PRODUCT_LABEL = "nvidia.com/gpu.memory", "nvidia.com/gpu.product"
"""Labels of Nodes by GPU Feature Discovery."""
MADE_UP = "made-up GPU"
"""What a GPU is called that a local cluster only pretends to have."""
_MEBIBYTE = 2**20
_MODEL_LENGTH = 64
_WORDS_OF_TROUBLE = ("ERR!", "Unknown Error", "GPU is lost", "requires reset")


@dataclass(frozen=True)
class Card:
    """A GPU.

    Attributes:
        model: What it is, for people.
        memory: What it has; 0 if that is not known.
        used: What of it is used; None if nobody has measured it.
        problem: Why nothing can run on it; empty if it can.
    """

    model: str
    memory: int = 0
    used: int | None = None
    problem: str = ""


def of_table(table: str) -> list[Card]:
    """The GPUs of nvidia-smi's table, with the columns FIELDS and without units.

    >>> of_table("0, GPU-1, 24564, 1024, NVIDIA GeForce RTX 4090")
    [Card(model='NVIDIA GeForce RTX 4090', memory=24564, used=1024, problem='')]
    """
    found = []
    for line in table.splitlines():
        words = [word.strip() for word in line.split(",", len(FIELDS) - 1)]
        if len(words) != len(FIELDS) or not _is_number(words[0]):
            continue
        trouble = next((w for w in words if any(sign in w for sign in _WORDS_OF_TROUBLE)), "")
        found.append(
            Card(
                clean(words[4], _MODEL_LENGTH) or "GPU",
                memory=int(words[2]) if _is_number(words[2]) else 0,
                used=int(words[3]) if _is_number(words[3]) else None,
                problem=f"nvidia-smi says `{clean(trouble, 64)}`" if trouble else "",
            )
        )
    return found


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal()


def of_slices(slices: Iterable[Mapping[str, Any]]) -> list[Card]:
    """The GPUs that a node's ResourceSlices of the driver canhazgpu.com offer."""
    devices = [each for one in slices for each in one.get("spec", {}).get("devices") or ()]
    return [_of_device(each) for each in devices]


def _of_device(device: Mapping[str, Any]) -> Card:
    attributes = device.get("attributes") or {}
    memory = (device.get("capacity") or {}).get("memory", {}).get("value", "0")
    model = str(attributes.get("model", {}).get("string", "")) or "GPU"
    if attributes.get("madeUp", {}).get("bool"):
        model = MADE_UP
    healthy = attributes.get("healthy", {}).get("bool", True)
    return Card(
        clean(model, _MODEL_LENGTH),
        memory=megabytes(memory),
        problem="" if healthy else f"`{device.get('name')}` is unhealthy by its ResourceSlice",
    )


def of_node(node: Mapping[str, Any], made_up_memory: int = 0) -> list[Card]:
    """The GPUs that a device plugin gives a Node.

    Args:
        node: The Node.
        made_up_memory: What each of the GPUs has that a local cluster pretends to have; 0 where
            GPUs are real.
    """
    labels = node.get("metadata", {}).get("labels") or {}
    capacity = node.get("status", {}).get("capacity") or {}
    count = int(parse_quantity(capacity.get(GPU, "0")))
    said = str(labels.get(MEMORY_LABEL, ""))
    card = Card(
        clean(str(labels.get(PRODUCT_LABEL) or "GPU"), _MODEL_LENGTH),
        memory=int(said) if _is_number(said) else 0,
    )
    if made_up_memory:
        card = replace(card, model=MADE_UP, memory=made_up_memory)
    return [card] * count


def megabytes(quantity: object) -> int:
    """An amount of bytes in megabytes, rounded down.

    >>> megabytes("24Gi"), megabytes("1000M")
    (24576, 953)

    Raises:
        ValueError: It is not a quantity.
    """
    return int(parse_quantity(str(quantity)) // _MEBIBYTE)
