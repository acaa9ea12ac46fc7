"""What is read of every object of ours, and what is said of what belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - msgspec reads the annotations
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
from lightkube.models.meta_v1 import ObjectMeta

if TYPE_CHECKING:
    from collections.abc import Mapping

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


class Item(Protocol):
    """An object of a kind of ours."""

    @property
    def metadata(self) -> Meta:
        """What names it; its generation is that of its spec."""

    @property
    def status(self) -> Mapping[str, Any]:
        """What was written about it."""


def meta_of(metadata: ObjectMeta | None) -> Meta:
    """The same of a child."""
    found = metadata or ObjectMeta()
    return Meta(
        name=found.name or "",
        uid=found.uid or "",
        namespace=found.namespace or "",
        resource_version=found.resourceVersion or "",
    )


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
