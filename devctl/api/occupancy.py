"""Whether somebody may be at work in a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_occupied(pod: Mapping[str, Any]) -> bool:
    """Whether a container of a pod has started and runs, as its node last reported.

    Pods of an unreachable node are not ready, but their programs continue. The last report counts
    until Kubernetes deletes the pods.

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
