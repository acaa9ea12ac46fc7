"""The parts of our objects that the observer reads, and what it concludes about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from lightkube.models.meta_v1 import ObjectMeta

from devctl.api.devserver import Phase


class Base(msgspec.Struct, rename="camel", frozen=True):
    """A struct whose JSON has names in camel case."""


class Meta(Base, frozen=True):
    """The parts of an object's metadata that are used."""

    name: str
    uid: str = ""
    namespace: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class Item(Base, frozen=True, kw_only=True):
    """An object of one of our kinds; its own class adds the spec."""

    metadata: Meta
    """Its metadata; the generation changes with the spec only."""
    status: dict[str, Any] = {}
    """Its status, as stored."""
    wake: str = ""
    """The value of its wake annotation."""

    @property
    def going(self) -> bool:
        """Whether it is being deleted."""
        return self.metadata.deletion_timestamp is not None


def meta_of(metadata: ObjectMeta | None) -> Meta:
    """The metadata of an object that lightkube has parsed."""
    found = metadata or ObjectMeta()
    return Meta(
        name=found.name or "",
        uid=found.uid or "",
        namespace=found.namespace or "",
        resource_version=found.resourceVersion or "",
        creation_timestamp=found.creationTimestamp,
        deletion_timestamp=found.deletionTimestamp,
    )


def labels_of(child: Any) -> Mapping[str, str]:
    """A child's labels."""
    return (child.metadata.labels if child.metadata else None) or {}


def notes_of(child: Any) -> Mapping[str, str]:
    """A child's annotations."""
    return (child.metadata.annotations if child.metadata else None) or {}


def is_owned(metadata: ObjectMeta | None, uid: str) -> bool:
    """Whether an object belongs to this very owner, not to an earlier one of the same name."""
    owners = (metadata.ownerReferences if metadata else None) or []
    return any(owner.uid == uid for owner in owners)


@dataclass(frozen=True)
class Verdict:
    """The phase of something, the reason, and what its owner can do."""

    phase: Phase
    reason: str
    message: str


class Transition(NamedTuple):
    """The contents of an Event."""

    type: str
    reason: str
    message: str
    of: str = ""
    """If given, the Event is emitted once for this, however often the status changes."""
