"""NodeCacheStatuses, as the writer of labels reads them, and nodes, as it writes them."""

from __future__ import annotations

import msgspec
from lightkube.resources.core_v1 import Node

from devctl.api.kinds import NODE_CACHE
from devctl_observer.control.kind import Kind, kind_of
from devctl_observer.judging.model import Item
from devctl_observer.watching.kept import node_facts


class NodeCache(Item, frozen=True):
    """A NodeCacheStatus, named like its node."""


KIND = kind_of(NODE_CACHE, NodeCache)
NODE = Kind(Node, lambda obj: node_facts(msgspec.convert(obj, Node)))
