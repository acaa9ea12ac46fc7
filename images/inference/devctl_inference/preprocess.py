"""How an image is preprocessed: as during training, or the results are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MAX_SIDE = 1024
_CHANNELS = 3
_MAX_MEAN = 10.0
_MIN_STD, _MAX_STD = 1e-6, 100.0


class Preprocess(NamedTuple):
    """Cropping, scaling and normalisation."""

    size: tuple[int, int]
    """Height and width of the model's input."""
    mean: tuple[float, ...]
    std: tuple[float, ...]
    """For red, green and blue, where 1 is the brightest."""
    grayscale: bool
    """Whether colours are removed first; the model still gets three (equal) channels."""
    centre: float | None = None
    """Side of a central square, as a share of the shorter side; None for the whole image."""

    def box(self, width: int, height: int) -> tuple[float, float, float, float]:
        """The part of an image that is scaled to `size`: left, top, right, bottom."""
        if self.centre is None:
            return (0, 0, width, height)
        side = min(width, height) * self.centre
        left, top = (width - side) / 2, (height - side) / 2
        return (left, top, left + side, top + side)


IMAGENET = Preprocess(
    (224, 224), (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), grayscale=False, centre=224 / 256
)
"""The central 224 pixels of an image scaled to 256, as torchvision's weights require.

In a single step, because scaling an image one pixel wide to 256 would exhaust memory.
"""


def parse(found: object) -> Preprocess:
    """Read `preprocess` of a labels file.

    Raises:
        ValueError: It is invalid; says what is expected.
    """
    keys = {"size", "mean", "std", "grayscale"}
    if not isinstance(found, dict) or found.keys() != keys:
        raise ValueError(f"`preprocess` must be an object with {', '.join(sorted(keys))}")
    grayscale = found["grayscale"]
    if not isinstance(grayscale, bool):
        raise ValueError("`preprocess.grayscale` must be true or false")  # noqa: TRY004 - one kind for all
    return Preprocess(
        _size(found["size"]),
        _channels(found, "mean", -_MAX_MEAN, _MAX_MEAN),
        _channels(found, "std", _MIN_STD, _MAX_STD),
        grayscale,
    )


def _size(found: object) -> tuple[int, int]:
    match found:
        # In Python, a bool is an int.
        case [int(height), int(width)] if not {type(height), type(width)} - {int}:
            if 1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE:
                return height, width
    raise ValueError(f"`preprocess.size` must be a height and a width from 1 to {MAX_SIDE}")


def _channels(found: Mapping[str, Any], key: str, low: float, high: float) -> tuple[float, ...]:
    values = found[key]
    # The comparison is false for NaN and infinity.
    if (
        isinstance(values, list)
        and len(values) == _CHANNELS
        and all(type(value) in {int, float} and low <= value <= high for value in values)
    ):
        return tuple(float(value) for value in values)
    raise ValueError(f"`preprocess.{key}` must be three numbers from {low:g} to {high:g}")
