"""What a role says of a resource in the condition `Applied`, and the observer in `Ready`."""

from __future__ import annotations

from enum import StrEnum

APPLIED, READY = "Applied", "Ready"
"""Types of conditions that every kind has which a role answers."""


class Reason(StrEnum):
    """Reasons of a failure; the role writes them, and the observer acts on some."""

    CONFLICT = "Conflict"
    """Another's object has the name, or another manager a field."""
    INVALID = "Invalid"
    FORBIDDEN = "Forbidden"
    QUOTA_EXCEEDED = "QuotaExceeded"
    TERMINATING = "Terminating"
    """An earlier object of the name, or the namespace, is still being deleted."""
    UNAVAILABLE = "Unavailable"
    TEMPLATE_ERROR = "TemplateError"


PASSING = frozenset({Reason.QUOTA_EXCEEDED, Reason.TERMINATING, Reason.UNAVAILABLE})
"""What passes by itself: the same run may succeed later with nothing changed."""
