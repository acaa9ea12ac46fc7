"""What a role reports of a resource in the condition `Applied`, and the observer in `Ready`."""

from __future__ import annotations

from enum import StrEnum

APPLIED, READY = "Applied", "Ready"
"""Condition types of every kind that has a role."""


class Reason(StrEnum):
    """Reasons of a failure; the role writes them, and the observer acts on some."""

    CONFLICT = "Conflict"
    """Somebody else's object has the name, or another manager owns a field."""
    INVALID = "Invalid"
    FORBIDDEN = "Forbidden"
    QUOTA_EXCEEDED = "QuotaExceeded"
    TERMINATING = "Terminating"
    """An earlier object of the name, or the namespace, is still being deleted."""
    UNAVAILABLE = "Unavailable"
    TEMPLATE_ERROR = "TemplateError"


PASSING = frozenset({Reason.QUOTA_EXCEEDED, Reason.TERMINATING, Reason.UNAVAILABLE})
"""Failures that pass by themselves: the same run may succeed later."""
