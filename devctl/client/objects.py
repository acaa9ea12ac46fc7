"""What all Kubernetes objects have in common, and all objects of a kind as they change."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError
from devctl.kube.patience import backoff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from devctl.kube.cluster import Change, Object

Word = TypeVar("Word", bound=StrEnum)

_WINDOW = 60.0
"""Seconds between two full lists, which reveal what was deleted between two watches."""


@dataclass(frozen=True)
class Named:
    """An object at one moment; `raw` is the object as the API server returned it."""

    raw: Object

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._meta["name"])

    @property
    def namespace(self) -> str:
        """Its namespace; empty for cluster-scoped objects."""
        return str(self._meta.get("namespace", ""))

    @property
    def uid(self) -> str:
        """Distinguishes it from every other object that ever had its name."""
        return str(self._meta.get("uid", ""))

    @property
    def created_at(self) -> datetime:
        """When it was created; now for the result of a dry run."""
        return moment(self._meta.get("creationTimestamp")) or datetime.now(UTC)

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return dict(self._meta.get("labels") or {})

    @property
    def going(self) -> bool:
        """Whether it is being deleted."""
        return "deletionTimestamp" in self._meta

    @property
    def spec(self) -> dict[str, Any]:
        """The desired state."""
        return dict(self.raw.get("spec") or {})

    @property
    def status(self) -> dict[str, Any]:
        """The observed state; empty until a controller has reported it."""
        return dict(self.raw.get("status") or {})

    @property
    def _meta(self) -> dict[str, Any]:
        return dict(self.raw["metadata"])


Item = TypeVar("Item", bound=Named)


@dataclass(frozen=True)
class Snapshot(Generic[Item]):
    """All objects at one moment, new ones last; `trouble` says why they may be out of date."""

    items: Sequence[Item]
    trouble: str = ""


def snapshots(
    listed: Callable[[], Iterable[Item]],
    watched: Callable[[float], Iterable[Change]],
    wrap: Callable[[Object], Item],
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[Snapshot[Item]]:
    """All objects now and after each change; never ends by itself.

    Args:
        listed: Lists the objects.
        watched: Watches the same objects for a number of seconds.
        wrap: Makes an item of an object.
        sleep: Waits.

    Raises:
        DevctlError: The first list failed, or access was denied later.
    """
    last: Sequence[Item] | None = None
    failures = 0
    while True:
        try:
            found = {item.uid: item for item in listed()}
            if last is None or list(found.values()) != list(last):
                last = list(found.values())
                yield Snapshot(last)
            failures = 0
            for change in watched(_WINDOW):
                if _take(found, wrap(change.object), gone=change.type == "DELETED"):
                    last = list(found.values())
                    yield Snapshot(last)
        except (DeniedError, NotFoundError, UsageError):
            raise
        except DevctlError as error:
            if last is None:
                raise
            failures += 1
            yield Snapshot(last, f"{error.message}; trying again")
            sleep(backoff(failures))


def _take(found: dict[str, Item], item: Item, *, gone: bool) -> bool:
    """Apply a change; whether it made a difference."""
    if gone:
        return found.pop(item.uid, None) is not None
    if found.get(item.uid) == item:
        return False
    found[item.uid] = item
    return True


def moment(text: object) -> datetime | None:
    """A time as the API server writes it; None where it is missing or malformed.

    >>> moment("2026-01-02T12:00:00Z")
    datetime.datetime(2026, 1, 2, 12, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        found = datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
    return found if found and found.tzinfo else None


def known(words: type[Word], text: object) -> Word | str:
    """A member of an enum; a value that only a newer release knows stays as it is."""
    try:
        return words(str(text))
    except ValueError:
        return str(text)


def number(value: object) -> int:
    """An integer as the API server writes it; 0 where it is missing or malformed.

    >>> number(3), number(None), number("x")
    (3, 0, 0)
    """
    try:
        return int(str(value))
    except ValueError:
        return 0
