"""The whole status of a DevServerUser."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from lightkube.resources.core_v1 import ResourceQuota

from devctl.api.applied import READY
from devctl.api.devserver_user import QUOTA
from devctl.api.messages import listed
from devctl_observer.control.standard import Seen
from devctl_observer.judging.budgets import Spent, judge_budget
from devctl_observer.judging.conditions import FALSE, TRUE, condition, merge, role_said
from devctl_observer.judging.model import meta_of
from devctl_observer.kinds.users.model import User


def _uncounted(seen: Seen[User]) -> list[str]:
    """What the quota bounds, and the quota controller has yet to count.

    For minutes after a kind is installed, its objects are not counted.
    """
    found = (q for q in seen.of(ResourceQuota) if meta_of(q.metadata).name == QUOTA)
    quota = next(found, None)
    wanted = (quota.spec.hard if quota and quota.spec else None) or {}
    counted = (quota.status.hard if quota and quota.status else None) or {}
    return sorted(wanted.keys() - counted.keys())


def user_status(
    seen: Seen[User], now: datetime, spent: Callable[[User], Spent | None] = lambda _: None
) -> dict[str, Any]:
    """The desired status.

    Args:
        seen: The user, with what the role has made.
        now: The time of a changed condition.
        spent: What a user has spent of their budget.
    """
    user = seen.item
    # Ignore the role's report on an earlier spec.
    said = role_said(user)
    where = f"namespace `{user.namespace}`"
    if said.get("status") == FALSE:
        ready = condition(READY, FALSE, said["reason"], said["message"])
    elif not said:
        ready = condition(READY, FALSE, "Applying", f"{where} is about to be set up")
    elif seen.lost:
        ready = condition(READY, FALSE, "Creating", f"{seen.lost[0]} does not exist yet")
    elif uncounted := _uncounted(seen):
        # Until then, the API server refuses whatever the quota bounds.
        message = f"Kubernetes is about to count the use of its quota: {listed(uncounted)}"
        ready = condition(READY, FALSE, "Counting", message)
    elif user.spec.suspended:
        message = (
            f"servers in {where} are stopped, and none starts: "
            f"`devctl admin user resume {user.metadata.name}` allows it again"
        )
        ready = condition(READY, FALSE, "Suspended", message)
    else:
        ready = condition(READY, TRUE, "Ready", f"`{user.spec.username}` can use {where}")
    conditions = [ready]
    status: dict[str, Any] = {"namespace": user.namespace}
    if user.spec.budget and (found := spent(user)):
        status["budget"], over = judge_budget(user.spec.budget, found)
        conditions.append(over)
    return {**status, "conditions": merge(conditions, user, now)}
