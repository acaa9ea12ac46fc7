"""Prometheus metrics of all kinds; a kind's own metrics are in its package."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
COMMON: dict[str, Any] = {"namespace": "devctl", "subsystem": "observer", "registry": REGISTRY}
"""Arguments of every metric."""

LEADER = Gauge("leader", "1 if this process may write, 0 if it waits for the lease.", **COMMON)
PODS = Gauge("pods", "Pods of ours.", **COMMON)
OBJECTS = Gauge("objects", "Objects that users write, by kind.", ["kind"], **COMMON)
QUEUE = Gauge("queue", "Objects that wait to be looked at, by kind.", ["kind"], **COMMON)
LOOKS = Counter("looks", "Times that an object was looked at, by kind.", ["kind"], **COMMON)
STATUS_WRITES = Counter("status_writes", "Statuses that were written, by kind.", ["kind"], **COMMON)
WAKES = Counter("wakes", "Times that a role was made to run again, by kind.", ["kind"], **COMMON)
WRITES = Counter("writes", "Requests that write, by their result.", ["result"], **COMMON)
for result in ("ok", "conflict", "forbidden", "gone", "failed"):
    WRITES.labels(result=result)
