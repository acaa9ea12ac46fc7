"""Why the role could not make a server, for one that runs and for one that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.applied import PASSING, Reason
from devctl.api.devserver import Phase
from devctl_observer.judging.conditions import MESSAGE_LIMIT, failure
from devctl_observer.judging.model import Verdict

if TYPE_CHECKING:
    from devctl_observer.servers.model import Server

_RETRIED = PASSING - {Reason.QUOTA_EXCEEDED}
"""Reasons that pass without anybody's doing."""
_LONGEST = 1024


def refusal(server: Server) -> Verdict | None:
    """Why a server that has no pods gets none, in the role's own words."""
    said = failure(server)
    if not said:
        return None
    reason = said.get("reason") or "ApplyFailed"
    phase = Phase.PENDING if reason in PASSING else Phase.FAILED
    return Verdict(phase, reason, said.get("message") or "it cannot be made")


def addition(server: Server) -> str:
    """What is said of a server that has pods, beside what they do; empty where all is well.

    A change that cannot be made leaves what runs untouched, and would go unnoticed.
    """
    refused = refusal(server)
    if refused is None or refused.reason in _RETRIED:
        return ""
    return f"; but its spec as it is now is not applied ({refused.reason}): {obstacle(server)}"


def obstacle(server: Server) -> str:
    """Why a server could not start as it is now, as far as the role knows; empty where it could."""
    refused = refusal(server)
    return "" if refused is None or refused.reason in _RETRIED else refused.message[:_LONGEST]


def with_addition(verdict: Verdict, more: str) -> Verdict:
    """The same verdict with a longer message, of which the end is kept."""
    message = verdict.message[: MESSAGE_LIMIT - len(more)] + more
    return Verdict(verdict.phase, verdict.reason, message)
