"""What pods hold of each node: summed up as pods come and go."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from devctl.api.pod_requests import requested

Thing = dict[str, Any]
_CPU = "cpu"
_ENDED = {"Succeeded", "Failed"}


def small_pod(pod: Thing) -> Thing:
    """What is kept of a pod: its node, and what it holds there."""
    return {"node": pod["spec"].get("nodeName", ""), "holds": held(pod)}


def held(pod: Thing) -> dict[str, int]:
    """What a pod holds of its node: nothing before it has one, and nothing once it has ended."""
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in _ENDED:
        return {}
    return {name: _whole(name, amount) for name, amount in requested(pod["spec"]).items()}


class Usage:
    """The sums, by node."""

    def __init__(self) -> None:
        """Know no pod yet."""
        self.nodes: dict[str, Counter[str]] = {}

    def changed(self, _key: str, old: Thing | None, new: Thing | None) -> None:
        """Count a pod anew, as `small_pod` has kept it."""
        if old:
            self.nodes.setdefault(old["node"], Counter()).subtract(old["holds"])
        if new:
            self.nodes.setdefault(new["node"], Counter()).update(new["holds"])


def _whole(name: str, amount: Decimal) -> int:
    """Cores in thousandths, all else in whole units; parts are rounded up."""
    exact = amount * (1000 if name == _CPU else 1)
    return -int(-exact // Decimal(1))
