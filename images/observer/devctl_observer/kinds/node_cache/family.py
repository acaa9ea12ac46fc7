"""NodeCacheStatuses: what is watched, and which changes matter."""

from __future__ import annotations

from typing import ClassVar

from devctl.api.placing import NodeFacts
from devctl_observer.control.family import Family
from devctl_observer.control.process import Process
from devctl_observer.kinds.node_cache.controller import NodeCacheController
from devctl_observer.kinds.node_cache.labels import ours
from devctl_observer.kinds.node_cache.model import NodeCache
from devctl_observer.watching.reflector import Followed
from devctl_observer.watching.store import Key


class NodeCaches(Family[NodeCache]):
    """The family of NodeCacheStatuses."""

    only_nodes: ClassVar[bool] = True

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        super().__init__(NodeCacheController(process), workers=4)

    @property
    def first(self) -> Followed:
        """The kind itself, which may be installed after the agents and this process."""
        return super().first._replace(optional=True)

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """Label a new node, and one whose labels somebody else has changed."""
        if new and (old is None or old.uid != new.uid or _labels(old) != _labels(new)):
            self.queue.add(Key("", new.name))


def _labels(node: NodeFacts) -> dict[str, str]:
    return ours(dict(node.labels))
