"""Why a missing pod could not be created, or a pod could not be set up on its node."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from lightkube.resources.core_v1 import Event

from devctl.api.applied import Reason
from devctl.api.devserver import Phase
from devctl_observer.judging.model import Verdict

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_QUOTA = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<requested>.+?), "
    r"used: (?P<used>.+?), limited: (?P<limited>.+)"
)
_CLOCKS_APART = timedelta(minutes=1)
_NO_ANSWER = "no details given"


def judge_refusal(warnings: Iterable[Event]) -> Verdict | None:
    """What the StatefulSet's last failure to create a pod means."""
    event = latest(e for e in warnings if e.reason == "FailedCreate")
    if event is None:
        return None
    detail = event.message or _NO_ANSWER
    if quota := _QUOTA.search(detail):
        message = (
            f"quota `{quota['name']}` is used up: it needs {quota['requested']}, but "
            f"{quota['used']} of {quota['limited']} are in use; stop another server, choose a "
            "smaller flavor, or ask an administrator for more"
        )
        return Verdict(Phase.PENDING, Reason.QUOTA_EXCEEDED, message)
    if "exceeded quota" in detail or "failed quota" in detail:
        message = f"a quota in the namespace forbids it; ask an administrator ({detail})"
        return Verdict(Phase.PENDING, Reason.QUOTA_EXCEEDED, message)
    message = f"the cluster refuses to create its pod; ask an administrator ({detail})"
    return Verdict(Phase.FAILED, "PodRefused", message)


def judge_mount(warnings: Iterable[Event]) -> Verdict | None:
    """Why a scheduled pod cannot be set up on its node."""
    reasons = {"FailedMount", "FailedAttachVolume", "FailedMapVolume"}
    event = latest(e for e in warnings if e.reason in reasons)
    if event is not None:
        message = f"a volume cannot be mounted yet: {event.message or _NO_ANSWER}"
        return Verdict(Phase.STARTING, "MountFailed", message)
    event = latest(e for e in warnings if e.reason == "FailedCreatePodSandBox")
    if event is not None:
        message = f"its node cannot set up the pod yet: {event.message or _NO_ANSWER}"
        return Verdict(Phase.STARTING, "SandboxFailed", message)
    return None


def since(warnings: Iterable[Event], moment: datetime | None) -> tuple[Event, ...]:
    """Warnings no older than a moment; those from before the last readiness are obsolete."""
    return tuple(w for w in warnings if moment is None or when(w) + _CLOCKS_APART >= moment)


def latest(events: Iterable[Event]) -> Event | None:
    """The event with the latest timestamp."""
    return max(events, key=when, default=None)


def when(event: Event) -> datetime:
    """When an event was last seen, for events of both APIs."""
    seen = event.series.lastObservedTime if event.series else None
    return seen or event.lastTimestamp or event.eventTime or event.firstTimestamp or _NEVER
