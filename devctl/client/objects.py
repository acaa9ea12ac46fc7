"""What all Kubernetes objects have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.kube.cluster import Cluster, Object

Value = TypeVar("Value")
Word = TypeVar("Word", bound=StrEnum)


class Field(Generic[Value]):
    """A field of an object: the path to it, and how to read its value, which may be missing."""

    def __init__(self, read: Callable[[Any], Value], *path: str) -> None:
        """Define it."""
        self._read, self._path = read, path

    def __get__(self, found: Named, _owner: type[Named]) -> Value:
        """Its value in an object."""
        value: Any = found.raw
        for key in self._path:
            value = (value or {}).get(key)
        return self._read(value)


class Collection:
    """The objects of a kind in a cluster."""

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


def known(words: type[Word], value: object) -> Word | str:
    """A member of an enum; a value that only a newer release knows stays as it is."""
    try:
        return words(str(value))
    except ValueError:
        return str(value)


@dataclass(frozen=True)
class Named:
    """An object at one moment; `raw` is the object as the API server returned it."""

    raw: Object

    name = Field(text, "metadata", "name")
    namespace = Field(text, "metadata", "namespace")
    """Empty for cluster-scoped objects."""

    @property
    def uid(self) -> str:
        """Distinguishes it from every other object that ever had its name."""
        return text(self._meta.get("uid"))

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return mapping(self._meta.get("labels"))

    @property
    def created_at(self) -> datetime:
        """When it was created; now for the result of a dry run."""
        return moment(self._meta.get("creationTimestamp")) or datetime.now(UTC)

    @property
    def going(self) -> bool:
        """Whether it is being deleted."""
        return "deletionTimestamp" in self._meta

    @property
    def spec(self) -> dict[str, Any]:
        """The desired state."""
        return mapping(self.raw.get("spec"))

    @property
    def status(self) -> dict[str, Any]:
        """The observed state; empty until a controller has reported it."""
        return mapping(self.raw.get("status"))

    @property
    def _meta(self) -> dict[str, Any]:
        return mapping(self.raw["metadata"])


Item = TypeVar("Item", bound=Named)


@dataclass(frozen=True)
class Snapshot(Generic[Item]):
    """All objects at one moment, new ones last; `trouble` says why they may be out of date."""

    items: Sequence[Item]
    trouble: str = ""
