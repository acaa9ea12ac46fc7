"""Hooks: scripts that run in each replica of a DevServer before its pod ends."""

from __future__ import annotations

from enum import StrEnum

GRACE_SECONDS = 30
"""The grace period of a pod beyond the timeouts of its hooks, in which its programs end."""

RECORD = "devctl-hooks 1"
"""The first line of a container's termination message that tells how its hooks ended.

After it, each hook has the line `begin NAME`; then `out OUTPUT`, where record separators stand for
line ends; and, once it has ended, `end RESULT CODE SECONDS`.
"""

MAX_HOOKS = 8
"""Hooks of a server."""
MAX_OUTCOMES = 64
"""Entries of status.hooks."""
MAX_OUTPUT = 400
"""Characters of the output of a hook in the status; the scripts record as many bytes."""


class Result(StrEnum):
    """How a hook ended."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    TIMED_OUT = "TimedOut"
    UNKNOWN = "Unknown"
    """Its pod was killed before the hook had ended, or before it began."""


class End(StrEnum):
    """Why a pod ended. Words for which devctl stops servers occur as well."""

    STOPPED = "Stopped"
    """Somebody stopped the server."""
    DELETED = "Deleted"
    """The server was deleted."""
    EVICTED = "Evicted"
    """Its node was drained, shut down or short of something."""
    REPLACED = "Replaced"
    """The server goes on with a new pod."""
