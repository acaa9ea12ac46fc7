"""The identity of a DevServerTeam's objects, and the values for its role's templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apply.values import Values

from devctl.api import queues
from devctl.api.applied import APPLIED
from devctl.api.conditions import find
from devctl.api.devserver_user import namespace_of
from devctl.api.labels import MANAGED_BY, MANAGER
from devserver_team.queues import cluster_queues


def identity(team: Mapping[str, Any]) -> dict[str, str]:
    """The labels that identify objects of a team."""
    return {MANAGED_BY: MANAGER, queues.TEAM_LABEL: str(team["metadata"]["name"])}


def values(
    team: Mapping[str, Any],
    *,
    kueue: Sequence[Mapping[str, Any]],
    flavors: Sequence[Mapping[str, Any]],
    users: Sequence[Mapping[str, Any]],
    existing: Sequence[Mapping[str, Any]],
) -> Values:
    """The values for the templates.

    Args:
        team: The DevServerTeam.
        kueue: The CustomResourceDefinition of Kueue's ClusterQueues, if Kueue is installed.
        flavors: Every DevServerFlavor.
        users: Every DevServerUser.
        existing: The team's ClusterQueues.
    """
    role = queues.MEMBER_ROLES.get(team["spec"].get("members", "none"))
    names = {
        "priorities": queues.PRIORITIES if kueue else {},
        "queues": cluster_queues(team, flavors, existing) if kueue else [],
        "binding": queues.MEMBERS,
        "role": role,
        "members": members(str(team["metadata"]["name"]), users) if role else {},
    }
    return Values(names)


def members(team: str, users: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The names of a member's colleagues, by the member's namespace.

    Only of those whose namespace exists and is theirs: the role of DevServerUsers said so.
    """
    ours = {
        namespace_of(user["metadata"]["name"], user["spec"].get("namespace")): str(
            user["spec"]["username"]
        )
        for user in users
        if user["spec"].get("team") == team
        and find(user.get("status", {}), APPLIED).get("status") == "True"
    }
    return {
        namespace: others
        for namespace, own in sorted(ours.items())
        if (others := sorted(set(ours.values()) - {own}))
    }
