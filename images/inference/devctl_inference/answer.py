"""A job's result: the most likely classes."""

from __future__ import annotations

import heapq
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict

from devctl_inference.failure import Failure, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

_LISTED = 5
_DIGITS = 6


class Class(TypedDict):
    """A class with its probability."""

    label: str
    probability: float


class Answer(TypedDict):
    """The exact content of the output file, which other programs read."""

    model: str
    top5: list[Class]
    elapsed_ms: float
    device: str
    timestamp: str


def top5(names: Sequence[str], probabilities: Sequence[float]) -> list[Class]:
    """The most likely classes in descending order; fewer than five if the model has fewer.

    Raises:
        Failure: The model's output is not numeric.
    """
    if len(names) != len(probabilities) or not all(map(math.isfinite, probabilities)):
        # Weights are NaN, or so large that they overflow.
        message = "the model's output is not one number per class: its weights are damaged"
        raise Failure(Reason.WEIGHTS_INVALID, message)
    best = heapq.nlargest(_LISTED, range(len(names)), key=probabilities.__getitem__)
    return [
        {"label": names[index], "probability": round(probabilities[index], _DIGITS)}
        for index in best
    ]


def answer(model: str, likeliest: list[Class], seconds: float, device: str, at: datetime) -> Answer:
    """The complete result.

    Args:
        model: The model's name.
        likeliest: The most likely classes.
        seconds: The model's time for this image.
        device: The device that it ran on.
        at: When it finished.
    """
    return {
        "model": model,
        "top5": likeliest,
        "elapsed_ms": round(seconds * 1000, 2),
        "device": device,
        "timestamp": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
