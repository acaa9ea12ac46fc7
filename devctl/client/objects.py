"""What all Kubernetes objects have in common."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from devctl.api.conditions import find
from devctl.errors import NotFoundError
from devctl.kube.cluster import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from devctl.api.kinds import Kind
    from devctl.kube.cluster import Change, Cluster, Object

Value = TypeVar("Value")
Word = TypeVar("Word", bound=StrEnum)


class Field(Generic[Value]):
    """A field of an object: the path to it, and how to read its value, which may be missing."""

    def __init__(self, read: Callable[[Any], Value], *path: str) -> None:
        """Define it."""
        self._read, self._path = read, path

    def __get__(self, found: Any, _owner: type) -> Value:
        """Its value in an object."""
        value: Any = found.raw
        for key in self._path:
            value = (value or {}).get(key)
        return self._read(value)


class Collection:
    """What a part of the client works on: one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Make no request yet."""
        self._cluster = cluster


def text(value: object) -> str:
    """A string; empty where it is missing."""
    return "" if value is None else str(value)


def mapping(value: dict[str, Any] | None) -> dict[str, Any]:
    """A mapping; empty where it is missing."""
    return dict(value or {})


def moment(value: object) -> datetime | None:
    """A time as the API server writes it; None where it is missing or malformed.

    >>> moment("2026-01-02T12:00:00Z")
    datetime.datetime(2026, 1, 2, 12, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        found = datetime.fromisoformat(str(value)) if value else None
    except ValueError:
        return None
    return found if found and found.tzinfo else None


def number(value: object) -> int:
    """An integer; 0 where it is missing or malformed.

    >>> number(3), number(None), number("x")
    (3, 0, 0)
    """
    try:
        return int(str(value))
    except ValueError:
        return 0


def phase_of(words: type[Word]) -> Callable[[object], Word | str]:
    """Reads a phase, Pending if it is missing; one that only a newer release knows is a string."""

    def read(value: object) -> Word | str:
        try:
            return words(str(value or "Pending"))
        except ValueError:
            return str(value)

    return read


@dataclass(frozen=True)
class Named:
    """An object at one moment; `raw` is the object as the API server returned it."""

    raw: Object

    name = Field(text, "metadata", "name")
    namespace = Field(text, "metadata", "namespace")
    """Empty for cluster-scoped objects."""
    uid = Field(text, "metadata", "uid")
    """Distinguishes it from every other object that ever had its name."""
    labels = Field(mapping, "metadata", "labels")
    spec = Field(mapping, "spec")
    """The desired state."""
    status = Field(mapping, "status")
    """The observed state; empty until a controller has reported it."""
    going = Field(bool, "metadata", "deletionTimestamp")
    """Whether it is being deleted."""

    @property
    def created_at(self) -> datetime:
        """When it was created; now for the result of a dry run."""
        return moment(self.raw["metadata"].get("creationTimestamp")) or datetime.now(UTC)

    def condition(self, kind: str) -> dict[str, Any]:
        """A condition of its status; empty if it is missing."""
        return find(self.status, kind)


@dataclass(frozen=True)
class Reasoned(Named):
    """An object that says why it is in its state."""

    @property
    def reason(self) -> str:
        """Why, in one word; empty until that is known."""
        return str(self._why.get("reason", ""))

    @property
    def message(self) -> str:
        """Why, and what to do."""
        return str(self._why.get("message", ""))

    @property
    def _why(self) -> dict[str, Any]:
        """What has the reason and the message."""
        return self.status


@dataclass(frozen=True)
class Explained(Reasoned):
    """An object with an owner and a phase, and the reason for that phase."""

    owner = Field(text, "spec", "owner")
    """Empty for what was created before there were owners."""


@dataclass(frozen=True)
class Provisioned(Reasoned):
    """What administrators decide on, and a role sets up."""

    budget = Field(mapping, "spec", "budget")
    """What it may spend in a month; empty for any amount."""
    spent = Field(mapping, "status", "budget")
    """What it has spent of that: `month`, `spent`, `currency`, `percent`."""

    @property
    def ready(self) -> bool:
        """Whether it is set up for the present spec."""
        return self._why.get("status") == "True"

    @property
    def _why(self) -> dict[str, Any]:
        said = self.condition("Ready")
        current = said.get("observedGeneration") == self.raw["metadata"].get("generation")
        return said if current else {}


def camel_case(fields: Mapping[str, Any]) -> Object:
    """Fields of a spec as the API server names them.

    >>> camel_case({"default_flavor": "small", "team": None})
    {'defaultFlavor': 'small', 'team': None}
    """
    return {
        re.sub("_([a-z])", lambda found: found[1].upper(), name): value
        for name, value in fields.items()
    }


Item = TypeVar("Item", bound=Named)


class NamedCollection(Collection, Generic[Item]):
    """Objects that people look up by name, such as servers."""

    _kind: Kind
    _item: type[Item]
    _noun: str
    _see: str
    """The fix for a name that does not exist."""
    _check_name: staticmethod[[str], None]

    def list(
        self, namespace: str | None = None, labels: Mapping[str, Any] | None = None
    ) -> Iterator[Item]:
        """All in a namespace, or in devctl.kube.cluster.EVERYWHERE, fetched page by page."""
        return map(self._item, self._cluster.list(self._kind, namespace, labels))

    def get(self, name: str) -> Item:
        """The one of a name.

        Raises:
            NotFoundError: It does not exist.
            UsageError: The name is invalid.
        """
        found = self.find(name)
        if found is None:
            where = f" in namespace `{self._cluster.namespace}`" if self._kind.namespaced else ""
            raise NotFoundError(f"there is no {self._noun} `{name}`{where}", self._see)
        return found

    def find(self, name: str) -> Item | None:
        """The same, or None if it does not exist."""
        self._check_name(name)
        found = self._cluster.find(self._kind, name)
        return None if found is None else self._item(found)

    def watch(
        self,
        namespace: str | None = None,
        labels: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
    ) -> Iterator[Change]:
        """All now and as they change, all of them again after each reconnection; never ends."""
        while True:
            yield from self._cluster.watch(
                self._kind, namespace, name=name, labels=labels, seconds=WINDOW
            )

    def delete(self, which: str | Item) -> Item:
        """Delete one, but not its volumes; the object as it was.

        Given an object, a new one of that name is left alone.
        """
        found = self._known(which)
        self._cluster.delete(self._kind, found.raw)
        return found

    def _known(self, which: str | Item) -> Item:
        return self.get(which) if isinstance(which, str) else which

    def _change(self, which: str | Item, spec: Object, *, dry_run: bool = False) -> Item:
        found = self._known(which)
        # With the UID, the API server rejects a change to a new object of that name.
        change = {"metadata": {"uid": found.uid}, "spec": spec}
        changed = self._cluster.patch(
            self._kind, found.name, change, found.namespace, dry_run=dry_run
        )
        return self._item(changed)


@dataclass(frozen=True)
class Snapshot(Generic[Value]):
    """All objects at one moment, new ones last; `trouble` says why they may be out of date."""

    items: Sequence[Value]
    trouble: str = ""
