"""How an image is prepared for a model: as in its training, or the answers are wrong."""

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
    """Scaling, cutting out and normalising."""

    size: tuple[int, int]
    """Height and width that the model gets."""
    mean: tuple[float, ...]
    std: tuple[float, ...]
    """Of red, green and blue, where 1 is the brightest."""
    grayscale: bool
    """Whether colours are taken out first; the model gets three equal channels."""
    centre: float | None = None
    """The share of the shorter side that a central square has; None for all of the image."""

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
"""The central 224 pixels of an image scaled to 256: what torchvision's weights were made for.

As one step: an image of one pixel's width scaled to 256 would fill the memory.
"""


def parse(found: object) -> Preprocess:
    """Read what a labels file says.

    Raises:
        ValueError: It says something else; with what it should say.
    """
    keys = {"size", "mean", "std", "grayscale"}
    if not isinstance(found, dict) or found.keys() != keys:
        raise ValueError(f"`preprocess` is not an object of {', '.join(sorted(keys))}")
    grayscale = found["grayscale"]
    if not isinstance(grayscale, bool):
        raise ValueError("`preprocess.grayscale` is not true or false")  # noqa: TRY004 - one kind for all
    return Preprocess(
        _size(found["size"]),
        _channels(found, "mean", -_MAX_MEAN, _MAX_MEAN),
        _channels(found, "std", _MIN_STD, _MAX_STD),
        grayscale,
    )


def _size(found: object) -> tuple[int, int]:
    match found:
        # A bool is an int for Python.
        case [int(height), int(width)] if not {type(height), type(width)} - {int}:
            if 1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE:
                return height, width
    raise ValueError(f"`preprocess.size` is not a height and a width of 1 to {MAX_SIDE}")


def _channels(found: Mapping[str, Any], key: str, low: float, high: float) -> tuple[float, ...]:
    values = found[key]
    # The comparison is false for what is not a number, and true for nothing without bounds.
    if (
        isinstance(values, list)
        and len(values) == _CHANNELS
        and all(type(value) in {int, float} and low <= value <= high for value in values)
    ):
        return tuple(float(value) for value in values)
    raise ValueError(f"`preprocess.{key}` is not three numbers from {low:g} to {high:g}")
