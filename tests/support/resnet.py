"""A resnet50 that nobody has trained, written without torch, and an image for it.

It is what a user gives a job, and so the job takes it; what it says means nothing.
"""

from __future__ import annotations

import json
from math import prod
from random import Random
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LABELS = [f"class_{number}" for number in range(10)]
# Halves: of each the high byte gets an exponent that makes it small.
_SMALL = bytes(byte & 0x83 | 0x24 for byte in range(256))
_ONE = b"\x00\x3c"


def write(folder: Path, image: str = "") -> Path:
    """Weights and labels as `/artifacts/resnet50.safetensors` has them, and perhaps an image."""
    folder.mkdir(exist_ok=True)
    random = Random(0)  # noqa: S311 - no secret
    head, parts, end = {}, [], 0
    for name, shape in _shapes(len(LABELS)):
        count = prod(shape)
        if name.endswith("running_var"):
            data = _ONE * count
        elif name.endswith("num_batches_tracked"):
            data = bytes(8)
        else:
            noise = bytearray(random.randbytes(2 * count))
            noise[1::2] = noise[1::2].translate(_SMALL)
            data = bytes(noise)
        kind = "F16" if len(data) == 2 * count else "I64"
        head[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + len(data)]}
        parts.append(data)
        end += len(data)
    text = json.dumps(head).encode()
    whole = b"".join([len(text).to_bytes(8, "little"), text, *parts])
    (folder / "resnet50.safetensors").write_bytes(whole)
    (folder / "resnet50-labels.json").write_text(json.dumps(LABELS))
    if image:
        picture(folder / image)
    return folder


def picture(file: Path) -> Path:
    """An image."""
    file.parent.mkdir(exist_ok=True)
    Image.linear_gradient("L").convert("RGB").save(file)
    return file


def _shapes(classes: int) -> Iterator[tuple[str, list[int]]]:
    yield "conv1.weight", [64, 3, 7, 7]
    yield from _norm("bn1", 64)
    before = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner = 64 << stage
        for block in range(blocks):
            at = f"layer{stage + 1}.{block}"
            sizes = [(before, inner, 1), (inner, inner, 3), (inner, 4 * inner, 1)]
            for number, (source, target, side) in enumerate(sizes, 1):
                yield f"{at}.conv{number}.weight", [target, source, side, side]
                yield from _norm(f"{at}.bn{number}", target)
            if block == 0:
                yield f"{at}.downsample.0.weight", [4 * inner, before, 1, 1]
                yield from _norm(f"{at}.downsample.1", 4 * inner)
            before = 4 * inner
    yield "fc.weight", [classes, before]
    yield "fc.bias", [classes]


def _norm(at: str, size: int) -> Iterator[tuple[str, list[int]]]:
    for part in ("weight", "bias", "running_mean", "running_var"):
        yield f"{at}.{part}", [size]
    yield f"{at}.num_batches_tracked", []
