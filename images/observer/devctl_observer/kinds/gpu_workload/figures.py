"""The metrics of GPUWorkloads; their names have no prefix, for dashboards that know them."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

from devctl.api.applied import Reason
from devctl.api.gpu_workload import UNKNOWN_STRATEGY
from devctl_observer.control.figures import REGISTRY
from devctl_observer.kinds.gpu_workload.model import GPUWorkload
from devctl_observer.kinds.gpu_workload.status import NO_NODE
from devctl_observer.kinds.gpu_workload.strategies import BUILT_IN

_REASONS: dict[str, str] = {
    NO_NODE: "no_suitable_node",
    UNKNOWN_STRATEGY: "unknown_strategy",
    **{str(reason): "job_creation_failed" for reason in Reason},
}
"""The values of the label `reason`, by the reason in the status."""

SCHEDULED = Counter(
    "warp_gpuworkload_scheduled", "Nodes chosen, by strategy.", ["strategy"], registry=REGISTRY
)
FAILED = Counter(
    "warp_gpuworkload_failed", "Failures to schedule, by reason.", ["reason"], registry=REGISTRY
)
RETRIES = Counter("warp_gpuworkload_retries", "Retries.", registry=REGISTRY)
DURATION = Histogram(
    "warp_gpuworkload_reconcile_duration_seconds",
    "Duration of a reconciliation, by result.",
    ["result"],
    registry=REGISTRY,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
for _strategy in BUILT_IN:
    SCHEDULED.labels(strategy=_strategy)
for _reason in set(_REASONS.values()):
    FAILED.labels(reason=_reason)
for _result in ("success", "superseded", "error"):
    DURATION.labels(result=_result)


def count(before: GPUWorkload, after: GPUWorkload) -> None:
    """Count what a write of the status has changed."""
    if after.attempt > before.attempt and after.status.get("assignedNode"):
        SCHEDULED.labels(strategy=after.spec.scheduling_strategy).inc()
    if after.retries > before.retries:
        RETRIES.inc()
    again = after.retries > before.retries or after.phase is not before.phase
    if after.reason in _REASONS and (again or after.reason != before.reason):
        FAILED.labels(reason=_REASONS[after.reason]).inc()
