"""What all objects of the cluster have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from devctl.kube.cluster import Object

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True)
class Named:
    """An object at one moment.

    Attributes:
        raw: All that the API server says of it.
    """

    raw: Object

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._meta["name"])

    @property
    def namespace(self) -> str:
        """Where it is; empty for what belongs to the whole cluster."""
        return str(self._meta.get("namespace", ""))

    @property
    def uid(self) -> str:
        """What tells it from every other object that ever had its name."""
        return str(self._meta.get("uid", ""))

    @property
    def created_at(self) -> datetime:
        """When it was made."""
        found = moment(self._meta.get("creationTimestamp"))
        # What a dry run answers was never made.
        return found or datetime.now(UTC)

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return dict(self._meta.get("labels") or {})

    @property
    def going(self) -> bool:
        """Whether it is being deleted."""
        return "deletionTimestamp" in self._meta

    @property
    def _meta(self) -> dict[str, Any]:
        found: dict[str, Any] = self.raw["metadata"]
        return found


def moment(text: object) -> datetime | None:
    """A time as the API server writes it; None where there is none that we can read.

    >>> moment("2026-01-02T12:00:00Z")
    datetime.datetime(2026, 1, 2, 12, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        found = datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
    return found if found and found.tzinfo else None


def known(words: type[Word], text: object) -> Word | str:
    """A word that the API server says; one that a newer release has brought is kept as it is.

    Args:
        words: Those that we know.
        text: What it says.
    """
    try:
        return words(str(text))
    except ValueError:
        return str(text)


def number(value: object) -> int:
    """A number that the API server says; 0 where there is none that we can read.

    >>> number(3), number(None), number("x")
    (3, 0, 0)
    """
    try:
        return int(str(value))
    except ValueError:
        return 0
