"""What a look at one thing has found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How it is with what was looked at."""

    OK = "ok"
    WARNING = "warning"
    """Something will not work, and everything else will."""
    FAILED = "failed"
    SKIPPED = "skipped"
    """It could not be looked at."""


@dataclass(frozen=True)
class Finding:
    """What a look at one thing has found.

    Attributes:
        check: What was looked at.
        state: How it is.
        found: What was found.
        fix: What to do; empty where there is nothing to be done.
    """

    check: str
    state: State
    found: str
    fix: str = ""

    @property
    def raw(self) -> dict[str, str]:
        """It as a document."""
        return {
            "check": self.check,
            "state": str(self.state),
            "found": self.found,
            "fix": self.fix,
        }


def ok(check: str, found: str) -> Finding:
    """All is well."""
    return Finding(check, State.OK, found)


def warning(check: str, found: str, fix: str) -> Finding:
    """Something will not work."""
    return Finding(check, State.WARNING, found, fix)


def failed(check: str, found: str, fix: str) -> Finding:
    """Nothing will work before it is fixed."""
    return Finding(check, State.FAILED, found, fix)


def skipped(check: str, found: str, fix: str = "") -> Finding:
    """It could not be looked at."""
    return Finding(check, State.SKIPPED, found, fix)
