"""The header of a safetensors file, which describes its tensors before any of them is read."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl_inference.files import MIB

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

_LENGTH_BYTES = 8
_MAX_HEADER = 8 * MIB
_MAX_SIDES = 8
"""No tensor has more; the product of a million sides would take minutes to compute."""
_ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8}


class Tensor(NamedTuple):
    """Type and shape of a tensor."""

    dtype: str
    shape: tuple[int, ...]


def read(file: BinaryIO, size: int) -> dict[str, Tensor]:
    """Read a file's header.

    Raises:
        ValueError: The file is not in this format, or incomplete.
    """
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    if not 0 < length <= min(_MAX_HEADER, size - _LENGTH_BYTES):
        raise ValueError("it is not a safetensors file")
    try:
        found = json.loads(file.read(length))
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not a safetensors file") from error
    if not isinstance(found, dict):
        raise ValueError("it is not a safetensors file")  # noqa: TRY004 - one kind for all
    found.pop("__metadata__", None)
    tensors = {name: _tensor(name, entry) for name, entry in found.items()}
    wanted = sum(_ITEM_BYTES[t.dtype] * math.prod(t.shape) for t in tensors.values())
    there = size - _LENGTH_BYTES - length
    if wanted != there:
        raise ValueError(
            f"it has {there} bytes of tensors, but its header says {wanted}: is it truncated?"
        )
    return tensors


def differences(found: Mapping[str, Tensor], wanted: Mapping[str, tuple[int, ...]]) -> list[str]:
    """How a file differs from a model's tensors; empty if it matches."""
    said = []
    for what, names in (
        ("has no", sorted(wanted.keys() - found.keys())),
        ("has an unknown", sorted(found.keys() - wanted.keys())),
    ):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            said.append(f"{what} `{names[0]}`{more}")
    shapes = [(name, found[name].shape, wanted[name]) for name in sorted(wanted) if name in found]
    said += [
        f"has `{n}` as {list(is_)}, not {list(to_be)}" for n, is_, to_be in shapes if is_ != to_be
    ]
    return said


def _tensor(name: str, entry: Any) -> Tensor:
    match entry:
        case {"dtype": str(dtype), "shape": [*shape]} if dtype in _ITEM_BYTES:
            few = len(shape) <= _MAX_SIDES
            if few and all(type(side) is int and 0 <= side < 1 << 32 for side in shape):
                return Tensor(dtype, tuple(shape))
    raise ValueError(f"`{name}` is not a tensor of {', '.join(_ITEM_BYTES)}")
