"""The status of a NodeActivity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.node_activity import MAX_DETAIL, MAX_PODS, MAX_REPORT_AT
from devctl_node_agent.ages import whole_seconds
from devctl_node_agent.text import clean

if TYPE_CHECKING:
    from datetime import datetime

    from devctl_node_agent.ages import Ages


def status(
    ages: Ages, now: float, *, instance: str, sequence: int, wall_clock: datetime
) -> dict[str, Any]:
    """The whole status, in a stable order.

    Args:
        ages: Those of all pods.
        now: The monotonic clock.
        instance: A name of this run of the agent.
        sequence: The number of this report.
        wall_clock: For people.
    """
    # A pod beyond the limit is not reported, and so counts as active.
    uids = sorted(ages.pods)[:MAX_PODS]
    return {
        "instance": instance,
        "sequence": sequence,
        "reportedAt": f"{wall_clock:%Y-%m-%dT%H:%M:%SZ}",
        "pods": [_pod(ages, uid, now) for uid in uids],
    }


def wanted_ages(answer: Any) -> dict[str, list[int]]:
    """The ages at which the observer wants reports, by pod, from an object's spec."""
    found: dict[str, list[int]] = {}
    for pod in _dictionary(answer, "spec").get("pods") or []:
        if isinstance(pod, dict) and isinstance(pod.get("uid"), str):
            ages = pod.get("reportAt") or []
            found[pod["uid"]] = [each for each in ages[:MAX_REPORT_AT] if isinstance(each, int)]
    return found


def notices(answer: Any) -> dict[str, str]:
    """The notice for the people in each pod, from an object's spec."""
    return {
        pod["uid"]: pod["notice"]
        for pod in _dictionary(answer, "spec").get("pods") or []
        if isinstance(pod, dict)
        and isinstance(pod.get("uid"), str)
        and isinstance(pod.get("notice"), str)
        and pod["notice"]
    }


def _pod(ages: Ages, uid: str, now: float) -> dict[str, Any]:
    signals = [
        {
            "type": str(signal),
            "idleSeconds": whole_seconds(age.idle),
            "unknown": age.unknown,
            "detail": clean(age.detail, MAX_DETAIL),
        }
        for signal, age in sorted(ages.signals(uid, now).items())
    ]
    return {"uid": uid, "idleSeconds": whole_seconds(ages.idle(uid, now)), "signals": signals}


def _dictionary(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
