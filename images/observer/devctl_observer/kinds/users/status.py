"""The whole status of a DevServerUser."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from devctl.api.applied import READY
from devctl_observer.control.standard import Seen
from devctl_observer.judging.conditions import FALSE, TRUE, condition, merge, role_said
from devctl_observer.kinds.users.model import User


def user_status(seen: Seen[User], now: datetime) -> dict[str, Any]:
    """The desired status."""
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
    elif user.spec.suspended:
        message = (
            f"servers in {where} are stopped, and none starts: "
            f"`devctl admin user resume {user.metadata.name}` allows it again"
        )
        ready = condition(READY, FALSE, "Suspended", message)
    else:
        ready = condition(READY, TRUE, "Ready", f"`{user.spec.username}` can use {where}")
    return {"namespace": user.namespace, "conditions": merge([ready], user, now)}
