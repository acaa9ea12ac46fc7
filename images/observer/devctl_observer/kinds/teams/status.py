"""The whole status of a DevServerTeam."""

from __future__ import annotations

from collections.abc import Callable, Container
from datetime import datetime
from typing import Any

from lightkube.resources.core_v1 import PersistentVolumeClaim

from devctl.api.applied import READY
from devctl.api.messages import listed
from devctl.api.teams import claim_name
from devctl_observer.control.standard import Seen
from devctl_observer.judging.budgets import Spent, judge_budget
from devctl_observer.judging.conditions import FALSE, TRUE, condition, merge, role_said
from devctl_observer.judging.model import meta_of
from devctl_observer.kinds.teams.model import Team
from devctl_observer.kinds.teams.observed import files_key, members_claims, volume_of

_LISTED = 1000
"""Namespaces in a status; the CustomResourceDefinition takes no more."""


def team_status(
    seen: Seen[Team],
    now: datetime,
    flavors: Container[str],
    spent: Callable[[Team], Spent | None] = lambda _: None,
) -> dict[str, Any]:
    """The desired status.

    Args:
        seen: The team, with its claims.
        now: The time of a changed condition.
        flavors: The names of all flavors.
        spent: What a team has spent of its budget.
    """
    team = seen.item
    pending = _pending(seen)
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
    elif pending:
        ready = condition(READY, FALSE, "VolumePending", pending)
    else:
        count = len(team.spec.flavors)
        message = f"quota for pods of {count} flavor{'' if count == 1 else 's'}"
        ready = condition(READY, TRUE, "Ready", message)
    conditions = [ready]
    status: dict[str, Any] = {}
    if team.spec.budget and (found := spent(team)):
        status["budget"], over = judge_budget(team.spec.budget, found)
        conditions.append(over)
    status["conditions"] = merge(conditions, team, now)
    if team.spec.shared_storage:
        bound = [claim for claim in members_claims(seen.children) if volume_of(claim)]
        spaces = [meta_of(claim.metadata).namespace for claim in bound]
        name = claim_name(team.metadata.name)
        status["sharedStorage"] = {"claimName": name, "namespaces": spaces[:_LISTED]}
    return status


def _pending(seen: Seen[Team]) -> str:
    """Why the team's files have no volume; empty if they have one, or need none."""
    shared = seen.item.spec.shared_storage
    if not shared:
        return ""
    key = files_key(seen.item)
    name = f"claim `{key.namespace}/{key.name}`"
    claims = seen.of(PersistentVolumeClaim)
    files = next((c for c in claims if meta_of(c.metadata).namespace == key.namespace), None)
    if volume_of(files):
        return ""
    if not files:
        return f"{name} is about to be created"
    if files.status and files.status.phase == "Lost":
        return f"the volume of {name} is lost: restore it"
    # The last one: an earlier problem may have been solved.
    about = [e for e in seen.warnings if e.involvedObject.uid == meta_of(files.metadata).uid]
    why = f" ({about[-1].message})" if about else ""
    kind = (files.spec.storageClassName if files.spec else None) or shared.storage_class_name
    return (
        f"{name} has no volume yet: storage class `{kind}` must exist, support ReadWriteMany, "
        f"and bind volumes immediately{why}"
    )
