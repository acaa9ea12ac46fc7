"""The CachePlan, and what nodes have of it; watched once for all kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lightkube.generic_resource import create_global_resource

from devctl.api.kinds import CACHE_PLAN, NODE_CACHE
from devctl_observer.judging.caches import (
    Contents,
    Item,
    Plan,
    contents_of,
    images_of,
    plan_of,
)
from devctl_observer.watching.reflector import Followed
from devctl_observer.watching.store import Key, Store

_PLANS = create_global_resource(*CACHE_PLAN[:4])
_STATUSES = create_global_resource(*NODE_CACHE[:4])


class Caches:
    """The stores; without agents, no node is known to have anything."""

    def __init__(self) -> None:
        """Start with empty stores."""
        self.plans: Store[Plan] = Store()
        self.nodes: Store[Contents] = Store()
        self.planned: list[Callable[[], None]] = []
        """Called when the plan has changed."""
        self._images: dict[str, frozenset[str]] = {}

    @property
    def followed(self) -> Sequence[Followed]:
        """What is watched."""
        return [
            Followed(_PLANS, self.plans, plan_of, self._planned),
            Followed(_STATUSES, self.nodes, contents_of, self._changed),
        ]

    @property
    def items(self) -> Sequence[Item]:
        """What the plan has."""
        return [item for plan in self.plans for item in plan.items]

    @property
    def version(self) -> str:
        """Identifies what the plan says now."""
        return ",".join(plan.version for plan in self.plans)

    def on(self, node: str) -> Contents:
        """What a node has, or is to have."""
        return self.nodes.get(Key("", node)) or {}

    def images_on(self, node: str) -> frozenset[str]:
        """The whole names of the plan's images that a node has."""
        if node not in self._images:
            self._images[node] = images_of(self.items, self.on(node))
        return self._images[node]

    def _planned(self, _old: object, _new: object) -> None:
        self._images.clear()
        for listener in self.planned:
            listener()

    def _changed(self, _old: object, _new: object) -> None:
        self._images.clear()
