"""The one tree of exceptions that a person can meet.

DevctlError                 something went wrong; exit code 1
├── UsageError              the request itself makes no sense; 2
├── NotFoundError           what was named does not exist; 3
├── WaitTimeoutError        it took longer than the caller would wait; 4
├── DeniedError             rights or a quota forbid it; 5
├── AlreadyExistsError      an object of that name already exists
├── FieldConflictError      others manage the fields that an apply sets
├── ConnectionLostError     a stream to or from a pod has ended early
├── HostError               this machine cannot do it as it is
├── BusyError               another process is changing the same thing
└── StepError               a program that we ran failed
    └── ReportedError       and has already said so on the screen
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping


class DevctlError(Exception):
    """Says what happened and what to do about it.

    Args:
        message: What happened, one line, no full stop needed.
        fix: What the reader can do, one line; empty where nothing sensible can be said.
        reason: What programs tell errors of a class apart by, in one word: the API server's where
            it gave one, such as `Invalid`; else the class's.
        kind: The resource that it is about, such as `devservers`; empty where it is about none.
    """

    exit_code = 1
    reason = "Failed"

    def __init__(self, message: str, fix: str = "", *, reason: str = "", kind: str = "") -> None:
        """Keep both lines apart, so that the CLI can set them off from each other."""
        # What a pod has said is part of many a message.
        self.message, self.fix = one_line(message), one_line(fix)
        self.reason, self.kind = reason or type(self).reason, kind
        super().__init__(self.message)

    def lines(self) -> list[str]:
        """What is printed: what happened, and what to do where that is known."""
        return [f"error: {self.message}", *([f"  fix: {self.fix}"] if self.fix else [])]


class UsageError(DevctlError):
    """The request itself makes no sense."""

    exit_code = 2
    reason = "BadRequest"


class NotFoundError(DevctlError):
    """What was named does not exist."""

    exit_code = 3
    reason = "NotFound"


class WaitTimeoutError(DevctlError):
    """It took longer than the caller would wait."""

    exit_code = 4
    reason = "Timeout"


class DeniedError(DevctlError):
    """Rights or a quota forbid it."""

    exit_code = 5
    reason = "Forbidden"


class AlreadyExistsError(DevctlError):
    """An object of that name already exists."""

    reason = "AlreadyExists"


class FieldConflictError(DevctlError):
    """Others manage fields that an apply sets; `fields` has the managers by field."""

    reason = "Conflict"

    def __init__(self, fields: Mapping[str, str]) -> None:
        """Say which fields, and whose they are."""
        self.fields = dict(fields)
        said = ", ".join(f"{field} is managed by `{who}`" for field, who in self.fields.items())
        super().__init__(
            said, "leave these fields out of the file, or take them over with --force-conflicts"
        )


class ConnectionLostError(DevctlError):
    """A stream to or from a pod has ended early."""

    reason = "ConnectionLost"


class HostError(DevctlError):
    """This machine cannot do it as it is: not root, too little memory, an address range in use."""

    reason = "HostUnfit"


class BusyError(DevctlError):
    """Another process is changing the same thing."""

    reason = "Busy"


class StepError(DevctlError):
    """A program that we ran failed."""

    reason = "StepFailed"


class ReportedError(StepError):
    """A program that we ran failed and has already said so on the screen."""

    def lines(self) -> list[str]:
        """Nothing more to print."""
        return []
