"""Whether a DevServer is idle, in the words of its condition `Idle` and of status.idle."""

from __future__ import annotations

from enum import StrEnum


class Idleness(StrEnum):
    """Verdicts; all but STOPPED are reasons of the condition `Idle` as well."""

    ACTIVE = "Active"
    IDLE = "Idle"
    """Nothing has been active for spec.lifecycle.idleTimeout."""
    SOON = "IdleSoon"
    """It is about to be stopped, and its owner has been warned. Also the reason of that Event."""
    HELD = "Held"
    """It is idle, and kept until spec.lifecycle.holdUntil."""
    STOPPED = "IdleStopped"
    """It was stopped. The reason of `Ready` until the next start."""
    NO_REPORT = "NoReport"
    """The agent of a node has not reported on one of its pods, or not lately."""
    SIGNAL_UNKNOWN = "SignalUnknown"
    """An agent could not read a signal."""
    NOT_MEASURED = "NotMeasured"
    """No agent has ever reported anything."""
    NOT_RUNNING = "NotRunning"
    """One of its pods does not run, so that there is nothing to measure."""


LONGEST_GRACE = 300.0
"""The longest notice before a stop, in seconds."""


def grace_seconds(timeout: float) -> float:
    """How long before an idle server is stopped its owner is warned.

    >>> grace_seconds(3600), grace_seconds(60)
    (300.0, 15.0)
    """
    return min(LONGEST_GRACE, timeout / 4)
