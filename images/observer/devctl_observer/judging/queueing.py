"""What Kueue does to anything that waits in a team's queue, in the same words for every kind."""

from __future__ import annotations

import re

from devctl.api import workloads
from devctl.api.applied import Reason
from devctl.api.devserver import Phase
from devctl_observer.judging.model import Verdict

UNAVAILABLE = "QueueUnavailable"
"""The reason of what is not created because Kueue does not answer."""

_WEBHOOK = re.compile(r"failed calling webhook .*kueue-webhook-service")
CHECK = "check with `devctl doctor` whether it runs"
"""What to do about Kueue."""


def judge_waiting(team: str, flavor: str, queue: str, waits: str | None) -> Verdict:
    """Why pods that are gated do not start.

    Args:
        team: The team; empty for what is in a queue of somebody's own.
        flavor: The flavor; empty if unknown.
        queue: The LocalQueue; empty if unknown.
        waits: What is short, in Kueue's words; empty if Kueue has not tried yet, None if it has not
            answered.
    """
    if team:
        whose = f"the queue of team `{team}`"
        where = f"{whose} for flavor `{flavor}`" if flavor else whose
    else:
        where = f"queue `{queue}`" if queue else "a queue"
    if waits is None:
        what = f"Kueue has not answered yet; {CHECK}"
    else:
        # Kueue reports nothing on those that it has not tried.
        what = workloads.why(waits) if waits else "its turn has not come yet"
    return Verdict(Phase.PENDING, workloads.QUEUED, f"waiting in {where}: {what}")


def judge_unavailable(what: str, team: str, reason: str, message: str) -> Verdict | None:
    """That a role failed for want of Kueue, whose webhook must agree; None if it did not.

    Args:
        what: The word for the object, such as `server`.
        team: The team; empty for what is not in a team's queue.
        reason: The reason of the role's failure.
        message: Its message.
    """
    if not team or reason != Reason.UNAVAILABLE or not _WEBHOOK.search(message):
        return None
    told = (
        f"Kueue does not answer, which admits {what}s of team `{team}`; the {what} is queued once"
        " it does, ask an administrator"
    )
    return Verdict(Phase.PENDING, UNAVAILABLE, told)


def preempted_because(reason: str) -> str:
    """Why something was preempted, from the reason of its Workload's condition `Preempted`."""
    if reason == workloads.IN_QUEUE:
        why = "a server or job with a higher priority needed its quota"
    else:
        why = "another team took back the quota that it had lent"
    return f"preempted because {why}"
