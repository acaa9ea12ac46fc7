"""Metrics of what has been counted by this process."""

from __future__ import annotations

from typing import Any

from prometheus_client import Counter

from devctl.api.usage import Amounts
from devctl_observer.control.figures import REGISTRY
from devctl_observer.kinds.usage.book import Book

_COMMON: dict[str, Any] = {"namespace": "devctl", "subsystem": "usage", "registry": REGISTRY}
_LABELS = ["flavor", "kind"]
_PODS = Counter("pod_seconds", "Seconds of pods that ran.", _LABELS, **_COMMON)
_GPUS = Counter("gpu_seconds", "Seconds of GPUs of these pods.", _LABELS, **_COMMON)
_IDLE = Counter("idle_seconds", "Seconds of pods of idle servers.", _LABELS, **_COMMON)


def count(old: Book, new: Book) -> None:
    """Add what a write has added to a book, before lines are merged."""
    for key, amounts in new.lines.items():
        before = old.lines.get(key, Amounts())
        labels = {"flavor": key.flavor, "kind": key.kind}
        _PODS.labels(**labels).inc(amounts.seconds - before.seconds)
        _GPUS.labels(**labels).inc(amounts.gpu_seconds - before.gpu_seconds)
        _IDLE.labels(**labels).inc(amounts.idle_seconds - before.idle_seconds)
