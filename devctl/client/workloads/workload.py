"""A GPU workload as the API server returns it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.api import gpu_workload as words
from devctl.api.quantities import parse_quantity
from devctl.client.objects import Explained, Field, mapping, moment, number, phase_of, text
from devctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from decimal import Decimal

_NAME = re.compile(rf"[a-z0-9]([-a-z0-9]{{0,{words.LONGEST_NAME - 2}}}[a-z0-9])?", re.ASCII)
_ENDED = {words.Phase.SUCCEEDED, words.Phase.FAILED}


@dataclass(frozen=True)
class Workload(Explained):
    """A GPU workload at one moment."""

    phase = Field(phase_of(words.Phase), "status", "phase")
    """A plain string if only a newer release knows it."""
    model = Field(text, "spec", "modelName")
    gpus = Field(number, "spec", "gpuCount")
    """How many GPUs each of its pods requests."""
    nodes = Field(lambda value: number(value) or 1, "spec", "nodes")
    """How many pods run its program together."""
    priority = Field(lambda value: text(value) or "normal", "spec", "priority")
    strategy = Field(lambda value: text(value) or "leastLoaded", "spec", "schedulingStrategy")
    """How its node is chosen."""
    queue = Field(text, "spec", "queueName")
    """The LocalQueue in which it waits for quota; empty for none."""
    stopped = Field(bool, "spec", "stopped")
    """Whether it was asked to stop."""
    node = Field(text, "status", "assignedNode")
    """The node of its pod, of several that of rank 0, or the chosen one; empty before that."""
    assigned = Field(lambda value: list(value or []), "status", "assignedNodes")
    """The same for each of several pods, by rank; empty until all are known."""
    attempt = Field(number, "status", "attempt")
    """Number of the last attempt; 0 before the first one."""
    retries = Field(number, "status", "retryCount")
    """Retries so far; attempts that were preempted or stopped are not counted."""
    _job = Field(text, "status", "jobName")
    _considered = Field(lambda value: list(value or []), "status", "considered")

    @property
    def _why(self) -> dict[str, Any]:
        """A role that failed, else the status."""
        applied = self.condition(words.Condition.APPLIED)
        failed = applied.get("status") == "False" and not self.finished
        return applied if failed else self.status

    @property
    def finished(self) -> bool:
        """Whether it has ended for good; one with an unknown strategy continues with a known one.

        False for a phase that only a newer release knows.
        """
        return self.phase in _ENDED and self.status.get("reason") != words.UNKNOWN_STRATEGY

    @property
    def printed(self) -> int:
        """The last attempt whose program may have printed something; 0 if there is none."""
        between = self.phase == words.Phase.PENDING and not self._job
        begun = between or self.phase in {words.Phase.RUNNING, *_ENDED}
        return self.attempt if begun else max(0, self.attempt - 1)

    @property
    def max_retries(self) -> int:
        """After how many retries it has failed."""
        return number(mapping(self.spec.get("retryPolicy")).get("maxRetries", 3))

    @property
    def considered(self) -> Sequence[Mapping[str, Any]]:
        """The best nodes at the last choice, with `node`, `score` and `reason`."""
        return self._considered

    @property
    def requests(self) -> dict[str, Decimal]:
        """What each of its pods requests, by resource."""
        found = words.resources(self.spec)["requests"]
        return {name: parse_quantity(amount) for name, amount in found.items()}

    def moment(self, name: str) -> datetime | None:
        """A time in its status, such as `nextRetryAt`."""
        return moment(self.status.get(name))


def check_name(name: str) -> None:
    """Raise UsageError unless a GPU workload can have this name."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` cannot be a GPU workload's name",
            f"a name has to have at most {words.LONGEST_NAME} lower-case letters, digits and '-',"
            " and start and end without '-'",
        )
