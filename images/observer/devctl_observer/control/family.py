"""What a kind's package adds to the observer: what it watches, and how it handles changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from lightkube.models.core_v1 import ObjectReference, Pod

from devctl.api.placing import NodeFacts
from devctl_observer.control.controller import Controller
from devctl_observer.control.figures import OBJECTS, QUEUE, QUEUE_AGE
from devctl_observer.control.work_queue import WorkQueue
from devctl_observer.judging.model import Item
from devctl_observer.watching.reflector import Followed
from devctl_observer.watching.store import Key

WORKERS = 8
"""Maximum requests in flight: 100 servers take under a second without flooding the API server."""

T = TypeVar("T", bound=Item)


def export_queue(word: str, queue: WorkQueue) -> None:
    """Serve a work queue's length and age as figures of a kind."""
    QUEUE.labels(kind=word).set_function(lambda: queue.waiting)
    QUEUE_AGE.labels(kind=word).set_function(lambda: queue.age)


class Family(Generic[T]):
    """A kind of ours, and everything watched for it."""

    label: str = ""
    """The label by which children name their owner; empty if the kind has no children."""
    only_nodes: ClassVar[bool] = False
    """Whether it needs nothing but the nodes of what is watched for all families."""
    names: ClassVar[Mapping[str, str]] = {}
    """Patterns of its children's names, by kind; the one group is the owner's name."""

    def __init__(self, controller: Controller[T], workers: int = WORKERS) -> None:
        """Reconcile up to `workers` objects at once."""
        self.controller = controller
        self.kind, self.store = controller.kind, controller.store
        self.queue = WorkQueue(controller.look)
        self._workers = workers
        OBJECTS.labels(kind=controller.word).set_function(lambda: len(self.store))
        export_queue(controller.word, self.queue)

    @property
    def first(self) -> Followed:
        """The kind itself, which is listed before everything else."""
        return Followed(self.kind.resource, self.store, self.kind.parse, self._noted)

    @property
    def others(self) -> Sequence[Followed]:
        """What only this family watches."""
        return ()

    @property
    def queues(self) -> Sequence[tuple[WorkQueue, int]]:
        """Its work queues, each with its number of workers."""
        return [(self.queue, self._workers)]

    def _noted(self, old: T | None, new: T | None) -> None:
        self.changed(old, new)
        self.controller.told(old, new)

    def changed(self, old: T | None, new: T | None) -> None:
        """Reconcile an object of the kind that has changed."""
        if item := new or old:
            key = Key(item.metadata.namespace, item.metadata.name)
            # Also after its deletion, to drop its state.
            self.queue.add(key)
            if new is None:
                self.queue.forget_timer(key)

    def child(self, key: Key, old: Any, new: Any) -> None:
        """Reconcile the owner of a child; remember a deleted child."""
        if new is None:
            self.controller.gone[key] = old.metadata.uid
        self.queue.add(key)

    def of_child(self, about: ObjectReference) -> Key | None:
        """The owner of a child of that name, whether or not they exist."""
        found = re.fullmatch(self.names.get(about.kind or "", "(?!)"), about.name or "")
        return Key(about.namespace or "", found[1]) if found else None

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """Handle a change of a node."""

    def pod(self, old: Pod | None, new: Pod | None) -> None:
        """Handle a change of a pod, whatever kind it belongs to."""

    def look_again(self) -> None:
        """Reconcile everything after a step of the clock."""
        for key in self.store.keys():  # noqa: SIM118 - a Store is not a dict; it iterates objects
            self.queue.add(key)
