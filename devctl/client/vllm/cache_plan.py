"""The CachePlan: what nodes are to have ready, and what they have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from devctl.api.vllm_run import CACHE_PLAN
from devctl.client.objects import Collection, Field, Named, moment, number, text
from devctl.client.vllm.items import Item, added, removed, updated
from devctl.errors import AlreadyExistsError, DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.cluster import CONFLICT
from devctl.kube.failures import NO_SUCH_KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    Change = Callable[[Sequence[Item]], Sequence[Item]]

_KIND = resources.CachePlan
_TRIES = 8
"""How often a change is made again because somebody else was faster."""


@dataclass(frozen=True)
class CachePlan(Named):
    """The plan at one moment."""

    items = Field(lambda value: [Item(each) for each in value or []], "spec", "items")


@dataclass(frozen=True)
class CachedItem:
    """An item of a node's cache; `raw` is the item as the node's agent reports it."""

    node: str
    type: str
    raw: Mapping[str, Any]

    name = Field(text, "name")
    state = Field(text, "status")
    """`pulling`, `ready` or `failed`."""
    message = Field(text, "message")
    present = Field(bool, "present")
    """Whether the node has it, perhaps an older version than the plan wants."""
    size = Field[int | None](lambda value: None if value is None else number(value), "bytes")
    percent = Field[int | None](lambda value: None if value is None else number(value), "percent")


@dataclass(frozen=True)
class NodeCache(Named):
    """What a node's cache has, as its agent reports it."""

    @property
    def errors(self) -> Sequence[str]:
        """What is wrong with the whole cache, such as a full disk."""
        return [str(each) for each in self.status.get("errors") or []]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many items are `ready`, `pulling` and `failed`."""
        states = [item.state for item in self.items]
        return {state: states.count(state) for state in ("ready", "pulling", "failed")}

    @property
    def updated_at(self) -> datetime | None:
        """When it was reported."""
        return moment(self.status.get("lastUpdate"))

    @property
    def items(self) -> Sequence[CachedItem]:
        """All that it has, or is about to have."""
        types = {"image": "images", "gitRepo": "gitRepos", "model": "models"}
        return [
            CachedItem(self.name, kind, each)
            for kind, field in types.items()
            for each in self.status.get(field) or []
        ]


class Cache(Collection):
    """The CachePlan of a cluster, and the caches of its nodes.

    client.cache.add(new_item("image", "cuda", {"ref": "nvidia/cuda:12.1"}))
    """

    def plan(self) -> CachePlan | None:
        """The plan; None before there is one."""
        found = self._cluster.find(_KIND, CACHE_PLAN)
        return CachePlan(found) if found else None

    def items(self) -> Sequence[Item]:
        """The plan's items."""
        plan = self.plan()
        return plan.items if plan else []

    def add(self, item: Item) -> tuple[CachePlan, bool]:
        """Add an item; the plan, and whether that is new there.

        Raises:
            AlreadyExistsError: There is another one of its type and name.
            DeniedError: Administrators may change the plan.
        """
        return self._edit(lambda items: added(items, item))

    def remove(self, *words: str) -> CachePlan:
        """Remove the items of some NAMEs, or TYPE/NAMEs: all of them, or none.

        Raises:
            NotFoundError: One does not exist.
            UsageError: There are several of a name.
        """
        return self._edit(lambda items: reduce(removed, words, items))[0]

    def update(
        self,
        word: str,
        own: Mapping[str, str | None],
        nodes: Mapping[str, str] | None = None,
    ) -> tuple[CachePlan, bool]:
        """Change fields of the item of a NAME, or TYPE/NAME; an empty one is removed.

        Args:
            word: Which item.
            own: Fields of its type, such as `ref`; those that are None stay.
            nodes: Labels of the nodes that are to have it: empty for all nodes, None as before.
        """
        return self._edit(partial(updated, word=word, own=own, nodes=nodes))

    def nodes(self) -> Sequence[NodeCache]:
        """The caches of all nodes, by name; none if no cache agent runs."""
        try:
            found = list(map(NodeCache, self._cluster.list(resources.NodeCacheStatus)))
        except NotFoundError as error:
            if error.reason != NO_SUCH_KIND:
                raise
            return []
        return sorted(found, key=lambda cache: cache.name)

    def _edit(self, change: Change) -> tuple[CachePlan, bool]:
        """Change the items, on top of what others have changed meanwhile."""
        for _ in range(_TRIES):
            plan = self.plan()
            before = plan.items if plan else []
            after = change(before)
            if plan and [each.raw for each in after] == [each.raw for each in before]:
                return plan, False
            try:
                return self._write(plan, after), True
            except AlreadyExistsError:
                if plan:
                    raise
            except DevctlError as error:
                if error.reason != CONFLICT:
                    raise
        raise DevctlError(
            f"the CachePlan has changed {_TRIES} times meanwhile", "try again in a moment"
        )

    def _write(self, plan: CachePlan | None, items: Sequence[Item]) -> CachePlan:
        spec = {"items": [dict(each.raw) for each in items]}
        if plan is None:
            manifest = {"metadata": {"name": CACHE_PLAN}, "spec": spec}
            return CachePlan(self._cluster.create(_KIND, manifest))
        # A patch of a list replaces it, so it may only apply to the plan that was read.
        read = {name: plan.raw["metadata"][name] for name in ("uid", "resourceVersion")}
        change = {"metadata": read, "spec": spec}
        return CachePlan(self._cluster.patch(_KIND, CACHE_PLAN, change))
