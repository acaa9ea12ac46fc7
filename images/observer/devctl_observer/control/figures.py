"""Prometheus metrics of all kinds; a kind's own metrics are in its package."""

from __future__ import annotations

from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    ProcessCollector,
    disable_created_metrics,
)

disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
COMMON: dict[str, Any] = {"namespace": "devctl", "subsystem": "observer", "registry": REGISTRY}
"""Arguments of every metric."""
PREFIX = "devctl_observer_"
"""What the names of all metrics begin with."""

LEADER = Gauge(
    *("leader", "1 if this process is the leader and may write, 0 if it waits for the lease."),
    **COMMON,
)
PODS = Gauge("pods", "Pods managed by devctl.", **COMMON)
OBJECTS = Gauge(
    "objects",
    "Objects of devctl's kinds; an added kind appears under its name in lower case.",
    ["kind"],
    **COMMON,
)
QUEUE = Gauge(
    "queue", "Objects waiting to be reconciled; claim is a job's volume.", ["kind"], **COMMON
)
QUEUE_AGE = Gauge(
    "queue_age_seconds",
    "How long the object that waits longest has waited; 0 if none waits.",
    ["kind"],
    **COMMON,
)
LOOKS = Counter("looks", "Reconciliations.", ["kind"], **COMMON)
STATUS_WRITES = Counter("status_writes", "Status writes.", ["kind"], **COMMON)
WAKES = Counter("wakes", "Times a role was triggered again.", ["kind"], **COMMON)
WRITES = Counter(
    "writes",
    "Write requests: ok; conflict, gone (the object changed or was deleted meanwhile; the next "
    "reconciliation corrects it); forbidden (a permission is missing, or the namespace is "
    "terminating); failed (any other error, or no answer).",
    ["result"],
    **COMMON,
)
for result in ("ok", "conflict", "forbidden", "gone", "failed"):
    WRITES.labels(result=result)
ProcessCollector(registry=REGISTRY)
