"""A volume for each test, and a library without torch."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from devctl_inference import settings
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from devctl_inference.preprocess import Preprocess
    from devctl_inference.settings import ModelName, Settings

SHAPES = {"fc.bias": (2,), "fc.weight": (2, 3)}
LABELS = ["cat", "dog"]


def safetensors(
    tensors: Mapping[str, tuple[int, ...]] = SHAPES, dtype: str = "F32", size: int = 4
) -> bytes:
    """A file of zeros."""
    header, end = {}, 0
    for name, shape in tensors.items():
        count = size
        for side in shape:
            count *= side
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + count]}
        end += count
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(end)


def picture(
    size: tuple[int, int] = (8, 8),
    mode: str = "RGB",
    kind: str = "PNG",
    color: int | tuple[int, ...] = 0,
) -> bytes:
    """A single-colour image."""
    made = BytesIO()
    Image.new(mode, size, color).save(made, kind)
    return made.getvalue()


class Network:
    """Returns the given probabilities."""

    device = "cpu"

    def __init__(self, probabilities: Sequence[float]) -> None:
        self._probabilities = probabilities
        self.pixels = b""

    def probabilities(self, pixels: bytes, _preprocess: Preprocess) -> Sequence[float]:
        self.pixels = pixels
        return self._probabilities


class Library:
    """Replaces torch."""

    def __init__(self, probabilities: Sequence[float] = (0.25, 0.75)) -> None:
        self.network = Network(probabilities)
        self.tensors = b""

    def shapes(self, _model: ModelName, classes: int) -> dict[str, tuple[int, ...]]:
        return {name: (classes, *shape[1:]) for name, shape in SHAPES.items()}

    def load(self, _model: ModelName, _classes: int, tensors: bytes) -> Network:
        self.tensors = tensors
        return self.network


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    return folder


@pytest.fixture
def job(volume: Path, tmp_path: Path) -> Settings:
    """A job with everything it needs on its volume."""
    (volume / "input.jpg").write_bytes(picture())
    (volume / "resnet50.safetensors").write_bytes(safetensors())
    (volume / "resnet50-labels.json").write_text(json.dumps(LABELS))
    return settings.read({"INPUT_WAIT_SECONDS": "0"}, volume, tmp_path / "baked")
