"""A kind for which only the status is specific.

A kind that changes with time, or that must be checked past the cache, has its own family and
controller, as servers and jobs have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from lightkube.models.core_v1 import ObjectReference
from lightkube.resources.core_v1 import Event

from devctl.api.applied import READY, Reason
from devctl.api.conditions import find
from devctl_observer.control.family import Family
from devctl_observer.control.kind import Kind
from devctl_observer.control.process import Process
from devctl_observer.control.role_controller import (
    Cause,
    Known,
    RoleController,
    soonest,
    usual_cause,
)
from devctl_observer.judging.model import Item, Transition
from devctl_observer.watching.children import Owner
from devctl_observer.watching.store import Key, Store

T = TypeVar("T", bound=Item)
C = TypeVar("C")


@dataclass(frozen=True)
class Child:
    """An object that a role creates."""

    resource: Any
    """lightkube's class for it."""
    key: Key

    def __str__(self) -> str:
        """The name shown to users."""
        return f"{self.resource.__name__} {'/'.join(filter(None, self.key))}"


@dataclass(frozen=True)
class Seen(Generic[T]):
    """An object, and what was observed of its children."""

    item: T
    lost: Sequence[str] = ()
    """Missing children, as shown to users; one that is being deleted is not missing yet."""
    children: Sequence[Any] = ()
    """The objects with its label, of all watched kinds."""
    warnings: Sequence[Event] = ()
    """Events about its children."""

    def of(self, resource: type[C]) -> list[C]:
        """Its children of one kind, given as lightkube's class."""
        return [child for child in self.children if isinstance(child, resource)]


@dataclass(frozen=True)
class Standard(Generic[T]):
    """The definition of such a kind."""

    kind: Kind[T]
    label: str
    """The label by which children name their owner."""
    makes: Callable[[T], Sequence[Child]]
    """The children that its role creates; a child that disappears is created again."""
    resources: Sequence[Any]
    """lightkube's classes to watch besides pods and claims."""
    status: Callable[[Seen[T], datetime], dict[str, Any]]
    """Computes the whole status; `merge` sorts its conditions."""
    own: Sequence[str] = (READY,)
    """The condition types in that status; changes of `Ready` emit Events."""
    events: Callable[[Mapping[str, Any], Mapping[str, Any]], Iterable[Transition]] = lambda *_: ()
    """Further Events, from the status before and after a change."""
    again: Callable[[T, datetime], float | None] = lambda *_: None
    """Seconds until the status changes by itself; None for never."""


class StandardController(RoleController[T]):
    """Handles the work queue of such a kind."""

    def __init__(self, standard: Standard[T], process: Process) -> None:
        """Start without any state."""
        self.word, self.own = standard.kind.name.lower(), standard.own
        super().__init__(standard.kind, Store(), process)
        self._standard = standard

    async def _look(self, key: Key, item: T) -> float | None:
        seen = self.observe(key, item)
        now = self._clock.now()
        wanted = self._standard.status(seen, now)
        events = [*transitions(item.status, wanted), *self._standard.events(item.status, wanted)]
        written = await self._write(key, item, wanted, events)
        woken = await self._wake_if(
            key, written, seen.lost, lambda known: self._cause(written, known)
        )
        return soonest(woken, self._standard.again(item, now))

    def _cause(self, item: T, known: Known) -> Cause:
        """Why to trigger the role of an object."""
        return usual_cause(item, known)

    def observe(self, key: Key, item: T) -> Seen[T]:
        """Collect everything that the status is derived from."""
        known = self._children
        children = known.of(Owner(self._standard.label, key))
        there = {Child(type(c), Key(c.metadata.namespace or "", c.metadata.name)) for c in children}
        return Seen(
            item,
            [str(child) for child in self._standard.makes(item) if child not in there],
            children,
            known.warnings_about(children),
        )


class StandardFamily(Family[T]):
    """The family of such a kind."""

    controller: StandardController[T]

    def __init__(
        self,
        standard: Standard[T],
        process: Process,
        controller: StandardController[T] | None = None,
    ) -> None:
        """Start without any state; a controller of its own knows more causes."""
        super().__init__(controller or StandardController(standard, process))
        self.label, self._children = standard.label, process.children
        for resource in standard.resources:
            process.children.follow(resource)

    def of_child(self, about: ObjectReference) -> Key | None:
        """The owner of the child that a warning is about."""
        owner = self._children.warned(about)
        return owner.key if owner and owner.label == self.label else None


def transitions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Transition]:
    """The Event for a changed reason of the condition `Ready`."""
    said = find(after, READY)
    reason = str(said.get("reason", ""))
    if reason and reason != find(before, READY).get("reason"):
        severity = "Warning" if reason in set(Reason) else "Normal"
        yield Transition(severity, reason, str(said.get("message", "")))
