"""Why an apply failed."""

from __future__ import annotations

from devctl.api.applied import PASSING, Reason


class ApplyError(Exception):
    """A failed apply; `str()` is one line for the user."""

    def __init__(self, reason: Reason, message: str) -> None:
        """Take reason and message, both for a condition."""
        super().__init__(" ".join(message.split()))
        self.reason = reason

    @property
    def retryable(self) -> bool:
        """Whether the same run may succeed later without any change."""
        return self.reason in PASSING


class StaleReadError(Exception):
    """The object has changed since it was read: read it again."""


class NotFoundError(ApplyError):
    """There is no such object, kind or namespace; an error unless the caller expects that."""

    def __init__(self, message: str) -> None:
        """Take the server's message."""
        super().__init__(Reason.INVALID, message)


class FieldConflictError(ApplyError):
    """Other field managers hold fields that the manifest sets."""

    def __init__(self, message: str, managers: frozenset[str]) -> None:
        """Take the managers, so that the caller can recognise its own."""
        super().__init__(Reason.CONFLICT, message)
        self.managers = managers
