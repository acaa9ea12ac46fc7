"""Why an apply failed."""

from __future__ import annotations

from devctl.api.applied import PASSING, Reason


class ApplyError(Exception):
    """An apply that failed; `str()` is one line for a person."""

    def __init__(self, reason: Reason, message: str) -> None:
        """Keep the reason apart from the message, as a condition does."""
        super().__init__(" ".join(message.split()))
        self.reason = reason

    @property
    def retryable(self) -> bool:
        """Whether the same run may succeed later with nothing changed."""
        return self.reason in PASSING


class StaleReadError(Exception):
    """What was read is outdated: another has changed the object since. Read again."""


class NotFoundError(ApplyError):
    """There is no such object, kind or namespace; an error except where absence is an answer."""

    def __init__(self, message: str) -> None:
        """Say what the server said."""
        super().__init__(Reason.INVALID, message)


class FieldConflictError(ApplyError):
    """Other field managers hold fields that the manifest sets."""

    def __init__(self, message: str, managers: frozenset[str]) -> None:
        """Name the managers, so that the caller can tell its own earlier ones from foreign ones."""
        super().__init__(Reason.CONFLICT, message)
        self.managers = managers
