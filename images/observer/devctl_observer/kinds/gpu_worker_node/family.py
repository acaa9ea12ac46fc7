"""GPUWorkerNodes: what is watched, and which changes matter."""

from __future__ import annotations

from typing import ClassVar

from devctl.api.placing import NodeFacts
from devctl_observer.control.family import Family
from devctl_observer.control.process import Process
from devctl_observer.kinds.gpu_worker_node.controller import WorkerController
from devctl_observer.kinds.gpu_worker_node.labels import ours
from devctl_observer.kinds.gpu_worker_node.model import Worker
from devctl_observer.watching.store import Key, Store


class Workers(Family[Worker]):
    """The family of GPUWorkerNodes, whose queue has the names of Nodes."""

    only_nodes: ClassVar[bool] = True

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        super().__init__(WorkerController(process), workers=4)
        self._nodes: Store[NodeFacts] = process.children.nodes

    def changed(self, old: Worker | None, new: Worker | None) -> None:
        """Look at the Node that an object names, and at the one that it has left."""
        for name in {side.spec.node_name for side in (old, new) if side}:
            self.queue.add(Key("", name))

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """Look at a Node that comes or goes, and at one of which ours was changed.

        A kubelet that starts anew may take away resources that it does not know.
        """
        if old is None or new is None or old.uid != new.uid or ours(old) != ours(new):
            found = new or old
            if found:
                self.queue.add(Key("", found.name))

    def look_again(self) -> None:
        """Look at all Nodes after a step of the clock."""
        named = {worker.spec.node_name for worker in self.store}
        for name in sorted(named | {node.name for node in self._nodes}):
            self.queue.add(Key("", name))
