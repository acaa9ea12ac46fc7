"""What Kueue reports on a Workload: the pods of a server or job that are admitted together.

No field says what is short: the message of the condition `QuotaReserved` is the only source.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from devctl.api.messages import listed

QUOTA_RESERVED, EVICTED, PREEMPTED = "QuotaReserved", "Evicted", "Preempted"
"""Types of a Workload's conditions. `Preempted` is also the reason of an eviction, and in the
status of a server or job that was stopped for it."""

FINISHED = "Finished"
"""The type of the condition of a Workload whose Job has ended: it holds no quota."""

QUEUED = "Queued"
"""The reason in the status of a server or job while it waits in a queue."""

STOPPED, STOPPED_BY_PREEMPTION = "TerminationTarget", "WorkloadEvictedDueToPreempted"
"""The condition of a pod without a StatefulSet that Kueue deletes, and its reason if the pod is
preempted."""

ON_HOLD = "OnHold"
"""The reason of `QuotaReserved` while a StatefulSet has no replicas."""

IN_QUEUE = "InClusterQueue"
"""The reason of `Preempted` if the same queue admits something more important; any other reason
means that another queue takes back what it has lent."""

_UNUSED = re.compile(r"insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed")
_NEVER = re.compile(
    r"insufficient quota for (\S+) in flavor (\S+), previously considered podsets requests "
    r"\(\S+\) \+ current podset request \((\S+)\) > maximum capacity \((\S+)\)"
)


class Shortage(NamedTuple):
    """A resource of which a queue has too little."""

    resource: str
    flavor: str
    """The flavor whose quota it is."""
    amount: str
    """How much more is needed, or how much is requested if that is more than there ever is."""
    most: str = ""
    """The whole quota, if the request exceeds it; else empty."""

    def __str__(self) -> str:
        """For messages."""
        if self.most:
            return f"{self.amount} {self.resource} requested, but the quota is {self.most}"
        return f"{self.amount} more {self.resource}"


def shortages(message: str) -> list[Shortage]:
    """What a Workload's message says is short; empty if it is about something else.

    >>> shortages("insufficient unused quota for cpu in flavor small, 1 more needed")
    [Shortage(resource='cpu', flavor='small', amount='1', most='')]
    """
    found = [Shortage(*match.groups()) for match in _UNUSED.finditer(message)]
    return found + [Shortage(*match.groups()) for match in _NEVER.finditer(message)]


def why(message: str) -> str:
    """What a Workload's message means, in one line; Kueue's own words if they are unknown.

    >>> why("... insufficient unused quota for cpu in flavor small, 1 more needed")
    'not enough quota is free: it needs 1 more cpu'
    """
    found = shortages(message)
    if not found:
        return message
    texts = list(dict.fromkeys(map(str, found)))
    if any(shortage.most for shortage in found):
        return f"it never fits: {listed(texts)}"
    return f"not enough quota is free: it needs {listed(texts)}"
