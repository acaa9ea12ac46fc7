"""Whether somebody may be at work in a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_occupied(pod: Mapping[str, Any]) -> bool:
    """Whether a container of a pod has come up and runs, as far as its node has said.

    Readiness is another question: a node that is silent for a moment has no ready pods, and the
    programs in them go on. What it said last stands until Kubernetes gives its pods up.

    >>> is_occupied({"metadata": {}, "status": {"containerStatuses": [{"state": {"running": {}}}]}})
    True
    >>> is_occupied({"metadata": {}, "status": {}})
    False
    """
    if pod["metadata"].get("deletionTimestamp"):
        return False
    containers = pod.get("status", {}).get("containerStatuses") or []
    return any(
        "running" in container["state"] and container.get("started") is not False
        for container in containers
    )
