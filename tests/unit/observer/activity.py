"""NodeActivities, and a monotonic clock that stands still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from devctl_observer.kinds.activity.model import KIND, Activity

from devctl.api.node_activity import ALWAYS_REPORTED

Thing = dict[str, Any]


@dataclass
class Steady:
    """A clock; call it for its seconds."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def signals(age: int, **ages: int) -> list[Thing]:
    """All signals that every report has; some with ages of their own."""
    return [{"type": kind, "idleSeconds": ages.pop(kind, age)} for kind in sorted(ALWAYS_REPORTED)]


def about(ordinal: int, age: int, found: list[Thing] | None = None) -> Thing:
    """A report on the pod of `objects.pod(ordinal)`."""
    kept = signals(age) if found is None else found
    return {"uid": f"p-{ordinal}", "idleSeconds": age, "signals": kept}


def activity(
    *pods: Thing,
    sequence: int | None = 1,
    instance: str = "i-1",
    node: str = "node-a",
    asked: list[Thing] | None = None,
    version: int = 1,
) -> Activity:
    """A node's object; without a sequence, its agent has not reported yet."""
    status = {"instance": instance, "sequence": sequence, "pods": list(pods)}
    return KIND.parse(
        {
            "metadata": {"name": node, "uid": f"a-{node}", "resourceVersion": str(version)},
            "spec": {"pods": asked or []},
            **({} if sequence is None else {"status": status}),
        }
    )
