"""Creates a NodeActivity for each node, and asks in it for what servers need to know."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from lightkube import ApiError

from devctl.api.node_activity import MAX_PODS
from devctl_observer.control.controller import Controller
from devctl_observer.control.process import Process
from devctl_observer.kinds.activity.model import KIND, Activity, WatchedPod
from devctl_observer.watching.store import Key, Store

log = logging.getLogger(__name__)


class ActivityController(Controller[Activity]):
    """Handles the work queue of nodes; a node's key is that of its NodeActivity."""

    word = "nodeactivity"

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        super().__init__(KIND, Store(), process)
        self._nodes = process.children.nodes
        self.watched: Callable[[str], Sequence[WatchedPod]] = lambda _: ()
        """The pods of a node on which servers need reports at particular moments."""

    async def look(self, key: Key) -> float | None:
        """Reconcile the object of a node, which may not exist yet."""
        if self.store.get(key) is None:
            await self._create(key)
            return None
        return await super().look(key)

    async def _look(self, key: Key, item: Activity) -> None:
        pods = self._pods(key.name)
        if item.going or list(item.spec.pods) == pods:
            return
        # If it is not the current version, the watch will deliver that.
        spec = {"pods": msgspec.to_builtins(pods)}
        await self._api.change(self.kind, item.metadata, spec)

    async def _create(self, key: Key) -> None:
        node = self._nodes.get(key)
        if node is None:
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
        made: dict[str, Any] = {
            "metadata": {"name": node.name, "ownerReferences": [owner]},
            "spec": {"pods": msgspec.to_builtins(self._pods(key.name))},
        }
        try:
            await self._api.create(self.kind, made)
        except ApiError as error:
            # It exists already, which the watch will report.
            if error.status.code != HTTPStatus.CONFLICT:
                raise
            return
        log.info("%s: created its NodeActivity", node.name)

    def _pods(self, node: str) -> list[WatchedPod]:
        return sorted(self.watched(node), key=lambda pod: pod.uid)[:MAX_PODS]
