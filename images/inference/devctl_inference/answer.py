"""A job's answer: the classes that a model finds likeliest."""

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
    """One of the classes."""

    label: str
    probability: float


class Answer(TypedDict):
    """What stands in the output file: no more and no less, other programs read it."""

    model: str
    top5: list[Class]
    elapsed_ms: float
    device: str
    timestamp: str


def top5(names: Sequence[str], probabilities: Sequence[float]) -> list[Class]:
    """The likeliest classes, the first one first; fewer than five if there are no more.

    Raises:
        Failure: The model does not say numbers.
    """
    if len(names) != len(probabilities) or not all(map(math.isfinite, probabilities)):
        # Weights of NaN, or so large that they overflow.
        message = "the model's answer is not a number for each class: its weights are damaged"
        raise Failure(Reason.WEIGHTS_INVALID, message)
    best = heapq.nlargest(_LISTED, range(len(names)), key=probabilities.__getitem__)
    return [
        {"label": names[index], "probability": round(probabilities[index], _DIGITS)}
        for index in best
    ]


def answer(model: str, likeliest: list[Class], seconds: float, device: str, at: datetime) -> Answer:
    """The whole of it.

    Args:
        model: Its name.
        likeliest: What it says.
        seconds: What it took the model to say so.
        device: Where it ran.
        at: When that was.
    """
    return {
        "model": model,
        "top5": likeliest,
        "elapsed_ms": round(seconds * 1000, 2),
        "device": device,
        "timestamp": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
