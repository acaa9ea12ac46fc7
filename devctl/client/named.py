"""What all objects of the cluster have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devctl.kube.cluster import Object


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


def moment(text: str | None) -> datetime | None:
    """A time as the API server writes it; None where there is none.

    >>> moment("2026-01-02T12:00:00Z")
    datetime.datetime(2026, 1, 2, 12, 0, tzinfo=datetime.timezone.utc)
    """
    return datetime.fromisoformat(text) if text else None
