"""What is read of every object of ours, and what is said of what belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from lightkube.models.meta_v1 import ObjectMeta

from devctl.api.devserver import Phase


class Base(msgspec.Struct, rename="camel", frozen=True):
    """JSON's names are camel case."""


class Meta(Base, frozen=True):
    """What is read of an object's metadata."""

    name: str
    uid: str = ""
    namespace: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class Item(Base, frozen=True, kw_only=True):
    """An object of a kind of ours; its own class adds the spec."""

    metadata: Meta
    """What names it; its generation is that of its spec."""
    status: dict[str, Any] = {}
    """What was written about it."""
    wake: str = ""
    """The annotation that runs its role again."""

    @property
    def going(self) -> bool:
        """Whether it is being deleted."""
        return self.metadata.deletion_timestamp is not None


def meta_of(metadata: ObjectMeta | None) -> Meta:
    """The same of a child."""
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
    """Whether an object is a child of that very owner, and not of an earlier one of its name."""
    owners = (metadata.ownerReferences if metadata else None) or []
    return any(owner.uid == uid for owner in owners)


@dataclass(frozen=True)
class Verdict:
    """What something does, why, and what its owner can do about it."""

    phase: Phase
    reason: str
    message: str


class Transition(NamedTuple):
    """What an Event tells."""

    type: str
    reason: str
    message: str
    of: str = ""
    """What it belongs to, if it is to be told once for that, however often the status changes."""
