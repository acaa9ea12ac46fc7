"""A GPUWorkload, as far as the observer reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from devctl.api.gpu_workload import (
    DEFAULT_IMAGE,
    PRIORITIES,
    TOLERATIONS,
    UNKNOWN_STRATEGY,
    Phase,
    job_name,
    resources,
)
from devctl.api.kinds import GPU_WORKLOAD
from devctl.api.placing import Needs, effective_requests
from devctl.api.queues import Priority
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.model import Base, Item


class RetryPolicy(Base, frozen=True):
    """What happens after a failed attempt."""

    max_retries: int = 3
    backoff_seconds: int = 30


class GPUWorkloadSpec(Base, frozen=True):
    """The spec, with the defaults of the schema."""

    model_name: str
    gpu_count: int
    owner: str = ""
    nodes: int = 1
    priority: str = Priority.NORMAL
    scheduling_strategy: str = "leastLoaded"
    retry_policy: RetryPolicy = RetryPolicy()
    image: str = DEFAULT_IMAGE
    resources: dict[str, int | float | str] = msgspec.field(default_factory=dict)
    queue_name: str = ""
    ttl_seconds_after_finished: int | None = None
    stopped: bool = False


class GPUWorkload(Item, frozen=True):
    """A GPUWorkload."""

    spec: GPUWorkloadSpec

    @property
    def phase(self) -> Phase:
        """The phase in its status."""
        return Phase(self.status.get("phase") or Phase.PENDING)

    @property
    def reason(self) -> str:
        """The reason in its status."""
        return str(self.status.get("reason", ""))

    @property
    def attempt(self) -> int:
        """The last attempt; 0 before the first one."""
        return int(self.status.get("attempt") or 0)

    @property
    def retries(self) -> int:
        """Retries so far."""
        return int(self.status.get("retryCount") or 0)

    @property
    def finished(self) -> bool:
        """Whether it has ended, which is final."""
        unknown = self.reason == UNKNOWN_STRATEGY
        return self.phase in {Phase.SUCCEEDED, Phase.FAILED} and not unknown

    @property
    def in_attempt(self) -> bool:
        """Whether its last attempt has not ended, as far as is recorded."""
        waits = self.phase is Phase.PENDING and not self.status.get("jobName")
        return bool(self.attempt) and not waits and self.phase is not Phase.FAILED

    @property
    def job_name(self) -> str:
        """The Job of the last attempt."""
        return job_name(self.metadata.name, self.attempt)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The nodes of the pods of its attempt, or those that were chosen for them, by rank."""
        one = self.status.get("assignedNode")
        return tuple(self.status.get("assignedNodes") or ([one] if one else []))

    @property
    def level(self) -> int:
        """Its pods' priority."""
        return PRIORITIES[Priority(self.spec.priority)][1]

    @property
    def needs(self) -> Needs:
        """What each of its pods needs of a node."""
        spec: Mapping[str, Any] = {
            "gpuCount": self.spec.gpu_count,
            "resources": self.spec.resources,
        }
        parts = resources(spec)
        return Needs(effective_requests(parts["requests"], parts["limits"]), {}, TOLERATIONS)


KIND = kind_of(GPU_WORKLOAD, GPUWorkload)


def placing(item: GPUWorkload) -> bool | None:
    """The index of the store: True for those with a pod that may be on no node yet, else None."""
    return True if item.phase is Phase.SCHEDULING and item.in_attempt else None
