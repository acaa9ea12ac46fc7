"""What a kind's package adds to the observer: what it follows, and what a change means to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from lightkube.models.core_v1 import ObjectReference

from devctl.api.placing import NodeFacts
from devctl_observer.control.controller import Controller
from devctl_observer.control.figures import OBJECTS, QUEUE
from devctl_observer.control.work_queue import WorkQueue
from devctl_observer.judging.model import Item
from devctl_observer.watching.reflector import Followed
from devctl_observer.watching.store import Key

WORKERS = 8
"""Requests in flight at most: 100 servers at once stay under a second, and the API server calm."""

T = TypeVar("T", bound=Item)


class Family(Generic[T]):
    """One kind that users write, and all that is watched for it."""

    label: str = ""
    """The label by which its children name it; empty where it has none."""
    names: ClassVar[Mapping[str, str]] = {}
    """What its children are called, by kind: a pattern with one group, the object's own name."""

    def __init__(self, controller: Controller[T], workers: int = WORKERS) -> None:
        """Know nothing yet; of its objects, so many are worked on at once."""
        self.controller = controller
        self.kind, self.store = controller.kind, controller.store
        self.queue = WorkQueue(controller.look)
        self._workers = workers
        OBJECTS.labels(kind=controller.word).set_function(lambda: len(self.store))
        QUEUE.labels(kind=controller.word).set_function(lambda: self.queue.waiting)

    @property
    def first(self) -> Followed:
        """The kind itself: known before all else."""
        return Followed(self.kind.resource, self.store, self.kind.parse, self.changed)

    @property
    def others(self) -> Sequence[Followed]:
        """What only this family looks at."""
        return ()

    @property
    def queues(self) -> Sequence[tuple[WorkQueue, int]]:
        """What it has to do, and how many work on it at once."""
        return [(self.queue, self._workers)]

    def changed(self, old: T | None, new: T | None) -> None:
        """Look at an object of the kind itself."""
        if item := new or old:
            key = Key(item.metadata.namespace, item.metadata.name)
            # Also where it is gone: what is remembered of it goes then.
            self.queue.add(key)
            if new is None:
                self.queue.forget_timer(key)

    def child(self, key: Key, old: Any, new: Any) -> None:
        """Look at the object that a child belongs to; remember what it lost."""
        if new is None:
            self.controller.gone[key] = old.metadata.uid
        self.queue.add(key)

    def of_warning(self, about: ObjectReference) -> Key | None:
        """The object whose child a warning would be about, be it there yet or not."""
        found = re.fullmatch(self.names.get(about.kind or "", "(?!)"), about.name or "")
        return Key(about.namespace or "", found[1]) if found else None

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """A node has changed in a way that decides something."""

    def look_again(self) -> None:
        """Look at everything: time itself has changed."""
        for key in self.store.keys():  # noqa: SIM118 - a Store is no dict; it iterates objects
            self.queue.add(key)
