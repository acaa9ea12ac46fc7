"""The whole status of a DevServerTeam."""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime
from typing import Any

from devctl.api.applied import READY
from devctl.api.messages import listed
from devctl_observer.control.standard import Seen
from devctl_observer.judging.conditions import FALSE, TRUE, condition, merge, role_said
from devctl_observer.kinds.teams.model import Team


def team_status(seen: Seen[Team], now: datetime, flavors: Container[str]) -> dict[str, Any]:
    """The desired status.

    Args:
        seen: The team.
        now: The time of a changed condition.
        flavors: The names of all flavors.
    """
    team = seen.item
    # Ignore the role's report on an earlier spec.
    said = role_said(team)
    missing = [quota.name for quota in team.spec.flavors if quota.name not in flavors]
    if said.get("status") == FALSE:
        ready = condition(READY, FALSE, said["reason"], said["message"])
    elif not said:
        ready = condition(READY, FALSE, "Applying", "its queues are about to be set up")
    elif missing:
        message = f"these flavors do not exist: {listed(missing)}; create them, or remove the quota"
        ready = condition(READY, FALSE, "FlavorNotFound", message)
    else:
        message = f"quota for pods of {len(team.spec.flavors)} flavors"
        ready = condition(READY, TRUE, "Ready", message)
    return {"conditions": merge([ready], team, now)}
