"""Times as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def to_text(moment: datetime) -> str:
    """Seconds in UTC, as in metadata.creationTimestamp."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_now() -> datetime:
    """This machine's idea of the present."""
    return datetime.now(UTC)


def from_text(text: object) -> datetime | None:
    """The moment that a status names, in UTC; None where it names none, as without a time zone."""
    try:
        found = datetime.fromisoformat(str(text))
        return found.astimezone(UTC) if found.tzinfo else None
    except (ValueError, OverflowError):
        return None
