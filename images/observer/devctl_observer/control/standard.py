"""A kind of which nothing but the status is its own.

A kind that time changes, or of which something is proven past the cache, has a family and a
controller of its own, as servers and jobs have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from devctl_observer.control.role_controller import RoleController, usual_cause
from devctl_observer.judging.model import Item, Transition
from devctl_observer.watching.children import Owner
from devctl_observer.watching.store import Key, Store

T = TypeVar("T", bound=Item)
C = TypeVar("C")


@dataclass(frozen=True)
class Child:
    """Something that a role makes."""

    resource: Any
    """lightkube's class of it."""
    key: Key

    def __str__(self) -> str:
        """As people name it."""
        return f"{self.resource.__name__} {'/'.join(filter(None, self.key))}"


@dataclass(frozen=True)
class Seen(Generic[T]):
    """An object, and what there is of it."""

    item: T
    lost: Sequence[str] = ()
    """What its role makes and is not there, as people name it; what is being deleted still is."""
    children: Sequence[Any] = ()
    """What carries its label, of all kinds that are watched."""
    warnings: Sequence[Event] = ()
    """Those about its children."""

    def of(self, resource: type[C]) -> list[C]:
        """Its children of one kind, given by lightkube's class."""
        return [child for child in self.children if isinstance(child, resource)]


@dataclass(frozen=True)
class Standard(Generic[T]):
    """What such a kind's package says."""

    kind: Kind[T]
    label: str
    """By which children name the object that they belong to."""
    makes: Callable[[T], Sequence[Child]]
    """What its role makes for an object. Whatever goes of that, the role has to make again."""
    resources: Sequence[Any]
    """lightkube's classes of what is watched for it, beside pods and claims."""
    status: Callable[[Seen[T], datetime], dict[str, Any]]
    """The whole status; `merge` orders its conditions."""
    own: Sequence[str] = (READY,)
    """The types of these conditions; Events tell of changes of `Ready`."""


class StandardController(RoleController[T]):
    """Handler of its work queue."""

    def __init__(self, standard: Standard[T], process: Process) -> None:
        """Know nothing yet."""
        self.word, self.own = standard.kind.name.lower(), standard.own
        super().__init__(standard.kind, Store(), process)
        self._standard = standard

    async def _look(self, key: Key, item: T) -> float | None:
        seen = self.observe(key, item)
        wanted = self._standard.status(seen, self._clock.now())
        written = await self._write(key, item, wanted, transitions(item.status, wanted))
        return await self._wake_if(
            key, written, seen.lost, lambda known: usual_cause(written, known)
        )

    def observe(self, key: Key, item: T) -> Seen[T]:
        """Everything that a status is derived from."""
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
    """Whom a change concerns."""

    controller: StandardController[T]

    def __init__(self, standard: Standard[T], process: Process) -> None:
        """Know nothing yet."""
        super().__init__(StandardController(standard, process))
        self.label, self._children = standard.label, process.children
        for resource in standard.resources:
            process.children.follow(resource)

    def of_warning(self, about: ObjectReference) -> Key | None:
        """The object whose child a warning is about."""
        owner = self._children.warned(about)
        return owner.key if owner and owner.label == self.label else None


def transitions(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Transition]:
    """The Event of a status whose condition `Ready` has another reason."""
    said = find(after, READY)
    reason = str(said.get("reason", ""))
    if reason and reason != find(before, READY).get("reason"):
        severity = "Warning" if reason in set(Reason) else "Normal"
        yield Transition(severity, reason, str(said.get("message", "")))
