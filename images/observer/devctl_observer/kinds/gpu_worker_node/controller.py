"""Gives a Node what its GPUWorkerNode says, and GPUWorkerNodes their status."""

from __future__ import annotations

import logging
from http import HTTPStatus

from lightkube import ApiError

from devctl.api.gpu_worker_job import SLOTS
from devctl.api.gpu_worker_node import LABELLED
from devctl.api.placing import NodeFacts
from devctl_observer.control.controller import Controller
from devctl_observer.control.figures import LOOKS
from devctl_observer.control.process import Process
from devctl_observer.judging.model import Meta
from devctl_observer.kinds.gpu_worker_node.labels import Marks, change, chosen, ours, wanted
from devctl_observer.kinds.gpu_worker_node.model import KIND, NODE, Worker
from devctl_observer.kinds.gpu_worker_node.status import worker_status
from devctl_observer.watching.store import Key, Store

log = logging.getLogger(__name__)

_REPLACED = {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}
"""It was deleted or changed meanwhile, which the watch will report soon."""


class WorkerController(Controller[Worker]):
    """Handles the work queue of Nodes: a key is a Node's, whether or not it is there."""

    word = "gpuworkernode"
    own = (LABELLED,)

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        super().__init__(KIND, Store(lambda worker: worker.spec.node_name), process)
        self._nodes: Store[NodeFacts] = process.children.nodes

    async def look(self, key: Key) -> None:
        """Mark a Node for the one that it belongs to, and tell all that name it."""
        LOOKS.labels(kind=self.word).inc()
        workers, node = self.store.find(key.name), self._nodes.get(key)
        if node:
            await self._mark(node, wanted(chosen(workers)))
        for worker in workers:
            try:
                await self._look(Key("", worker.metadata.name), worker)
            except ApiError as error:
                if error.status.code not in _REPLACED:
                    raise

    async def _look(self, key: Key, item: Worker) -> None:
        name = item.spec.node_name
        exists = self._nodes.get(Key("", name)) is not None
        first = chosen(self.store.find(name))
        await self._write(key, item, worker_status(item, first, self._clock.now(), exists=exists))

    async def _mark(self, node: NodeFacts, wants: Marks) -> None:
        has, meta = ours(node), Meta(node.name, node.uid)
        labels = change(has.labels, wants.labels)
        done = []
        # Slots first: no job comes before they can be counted.
        if has.slots != wants.slots and await self._api.offer(NODE, meta, {SLOTS: wants.slots}):
            done.append(f"{SLOTS}={wants.slots or ''}")
        if labels and await self._api.label(NODE, meta, labels):
            done += [f"{key}={value or ''}" for key, value in labels.items()]
        if done:
            log.info("%s: %s", node.name, " ".join(done))
