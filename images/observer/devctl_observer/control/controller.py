"""The base controller of all kinds: brings one object's status up to date."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from lightkube import ApiError

from devctl_observer.control.figures import LOOKS, STATUS_WRITES
from devctl_observer.control.kind import Kind
from devctl_observer.control.process import Process
from devctl_observer.judging.conditions import own_part
from devctl_observer.judging.model import Item, Transition
from devctl_observer.watching.store import Key, Store

IN_USE = 15.0
"""Seconds until a name or volume that is in use elsewhere is checked again."""
DOUBT = 5.0
"""Seconds until something that should have happened by now is checked again."""


T = TypeVar("T")
Ours = TypeVar("Ours", bound=Item)


def is_superseded(error: ApiError) -> bool:
    """Whether the object was changed or deleted meanwhile, which the watch will report soon."""
    return error.status.code in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}


class Controller(ABC, Generic[T]):
    """Handles a kind's work queue; `store` has the observed objects."""

    word: str
    """The label value of its metrics."""
    own: Iterable[str] = ()
    """The condition types that the observer writes; the role writes the others."""

    def __init__(self, kind: Kind[T], store: Store[T], process: Process) -> None:
        """Start without any state."""
        self.kind, self.store = kind, store
        self._api, self._clock = process.api, process.clock
        self.listeners: list[Callable[[T | None, T | None], None]] = []
        """Told the old and new state of each object that has changed, or that was written."""
        self.gone: dict[Key, str] = {}
        """The UID of the child that each object lost last."""
        for counted in (LOOKS, STATUS_WRITES):
            counted.labels(kind=self.word)  # exported as 0 from the start

    async def look(self, key: Key) -> float | None:
        """Reconcile an object; returns the seconds until it is due again, None for never."""
        item = self.store.get(key)
        if item is None:
            self._forget(key)
            return None
        LOOKS.labels(kind=self.word).inc()
        try:
            return await self._look(key, item)
        except ApiError as error:
            if is_superseded(error):
                return None
            raise

    @abstractmethod
    async def _look(self, key: Key, item: T) -> float | None:
        """Reconcile an existing object."""

    def _forget(self, key: Key) -> None:
        """Drop all state about a deleted object."""
        self.gone.pop(key, None)

    async def _write(
        self: Controller[Ours],
        key: Key,
        item: Ours,
        wanted: dict[str, Any],
        events: Iterable[Transition] = (),
    ) -> Ours:
        """Write a status and its Events if it differs; returns the object with that status."""
        if own_part(item.status, self.own) == wanted:
            return item
        applied = await self._api.apply_status(self.kind, item.metadata, wanted)
        STATUS_WRITES.labels(kind=self.word).inc()
        written = self._keep(key, applied)
        for said in events:
            version = written.metadata.resource_version
            await self._api.tell(self.kind, item.metadata, version, said)
        return written

    def told(self, old: T | None, new: T | None) -> None:
        """Tell everyone who listens of a change."""
        for listener in self.listeners:
            listener(old, new)

    def _keep(self, key: Key, applied: Mapping[str, Any]) -> T:
        """Store what was written before the watch delivers it."""
        before, written = self.store.get(key), self.kind.parse(applied)
        self.store.wrote(key, int(applied["metadata"].get("resourceVersion") or 0), written)
        self.told(before, written)
        return written
