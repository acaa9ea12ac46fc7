"""Metrics of what has been counted by this process."""

from __future__ import annotations

from functools import partial
from typing import Any

from prometheus_client import Counter, Gauge

from devctl.api.budgets import OVER_BUDGET
from devctl.api.conditions import find
from devctl.api.usage import Amounts
from devctl_observer.control.figures import REGISTRY
from devctl_observer.judging.conditions import TRUE
from devctl_observer.kinds.usage.book import Book
from devctl_observer.watching.store import Store

_COMMON: dict[str, Any] = {"namespace": "devctl", "subsystem": "usage", "registry": REGISTRY}
_LABELS = ["flavor", "kind"]
_PODS = Counter("pod_seconds", "Seconds of pods that ran.", _LABELS, **_COMMON)
_GPUS = Counter("gpu_seconds", "Seconds of GPUs of these pods.", _LABELS, **_COMMON)
_OVER = Gauge(
    *("budgets_over", "Users and teams that are over their budgets.", ["kind"]),
    namespace="devctl",
    registry=REGISTRY,
)
_IDLE = Counter("idle_seconds", "Seconds of pods of idle servers.", _LABELS, **_COMMON)


def budgets_over(**stores: Store[Any]) -> None:
    """Export how many objects are over their budgets, by kind."""
    for kind, store in stores.items():
        _OVER.labels(kind=kind).set_function(partial(_over, store))


def _over(store: Store[Any]) -> int:
    return sum(find(item.status, OVER_BUDGET).get("status") == TRUE for item in store)


def count(old: Book, new: Book) -> None:
    """Add what a write has added to a book, before lines are merged."""
    for key, amounts in new.lines.items():
        before = old.lines.get(key, Amounts())
        labels = {"flavor": key.flavor, "kind": key.kind}
        _PODS.labels(**labels).inc(amounts.seconds - before.seconds)
        _GPUS.labels(**labels).inc(amounts.gpu_seconds - before.gpu_seconds)
        _IDLE.labels(**labels).inc(amounts.idle_seconds - before.idle_seconds)
