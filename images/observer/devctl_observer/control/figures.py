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

LEADER = Gauge("leader", "1 if this process is the leader, 0 if it waits for the lease.", **COMMON)
PODS = Gauge("pods", "Pods managed by devctl.", **COMMON)
OBJECTS = Gauge("objects", "Objects of devctl's kinds.", ["kind"], **COMMON)
QUEUE = Gauge("queue", "Objects waiting to be reconciled.", ["kind"], **COMMON)
QUEUE_AGE = Gauge(
    "queue_age_seconds", "How long the object that waits longest has waited.", ["kind"], **COMMON
)
LOOKS = Counter("looks", "Reconciliations.", ["kind"], **COMMON)
STATUS_WRITES = Counter("status_writes", "Status writes.", ["kind"], **COMMON)
WAKES = Counter("wakes", "Times a role was triggered again.", ["kind"], **COMMON)
WRITES = Counter("writes", "Write requests, by result.", ["result"], **COMMON)
for result in ("ok", "conflict", "forbidden", "gone", "failed"):
    WRITES.labels(result=result)
ProcessCollector(registry=REGISTRY)
