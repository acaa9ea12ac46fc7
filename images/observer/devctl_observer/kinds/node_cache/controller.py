"""Gives a node the labels of what its cache holds."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from devctl.api.placing import NodeFacts
from devctl_observer.control.controller import Controller
from devctl_observer.control.process import Process
from devctl_observer.judging.model import Meta
from devctl_observer.kinds.node_cache.labels import change, wanted
from devctl_observer.kinds.node_cache.model import KIND, NODE, NodeCache
from devctl_observer.kinds.node_cache.reports import Reports
from devctl_observer.watching.store import Key, Store

log = logging.getLogger(__name__)

_MARGIN = 1.0
"""Added to waits, because timers may fire slightly early."""


class NodeCacheController(Controller[NodeCache]):
    """Handles the work queue of nodes; a node's key is that of its NodeCacheStatus."""

    word = "nodecachestatus"

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        super().__init__(KIND, Store(), process)
        self._nodes: Store[NodeFacts] = process.children.nodes
        self._reports = Reports(process.clock.steady)

    async def look(self, key: Key) -> float | None:
        """Label a node, which may have no report, or none any more."""
        if self.store.get(key) is None:
            self._forget(key)
            await self._label(key, {})
            return None
        return await super().look(key)

    def _forget(self, key: Key) -> None:
        super()._forget(key)
        self._reports.forget(key.name)

    async def _look(self, key: Key, item: NodeCache) -> float | None:
        left = self._reports.left(key.name, item.metadata.resource_version)
        await self._label(key, wanted(item.status) if left else {})
        return left + _MARGIN if left else None

    async def _label(self, key: Key, wants: Mapping[str, str]) -> None:
        node = self._nodes.get(key)
        changed = change(dict(node.labels), wants) if node else {}
        if node is None or not changed:
            return
        if await self._api.label(NODE, Meta(node.name, node.uid), changed):
            signs = [f"{'-' if value is None else '+'}{each}" for each, value in changed.items()]
            log.info("%s: %s", node.name, " ".join(signs))
