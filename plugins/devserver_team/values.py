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
from devserver_team.volumes import aliases, bound_volume, storage


def identity(team: Mapping[str, Any]) -> dict[str, str]:
    """The labels that identify objects of a team."""
    return {MANAGED_BY: MANAGER, queues.TEAM_LABEL: str(team["metadata"]["name"])}


def values(  # noqa: PLR0913 - everything that its task reads
    team: Mapping[str, Any],
    *,
    kueue: Sequence[Mapping[str, Any]],
    flavors: Sequence[Mapping[str, Any]],
    users: Sequence[Mapping[str, Any]],
    existing: Sequence[Mapping[str, Any]],
    files: Sequence[Mapping[str, Any]],
    source: Sequence[Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]],
    volumes: Sequence[Mapping[str, Any]],
) -> Values:
    """The values for the templates.

    Args:
        team: The DevServerTeam.
        kueue: The CustomResourceDefinition of Kueue's ClusterQueues, if Kueue is installed.
        flavors: Every DevServerFlavor.
        users: Every DevServerUser.
        existing: The team's ClusterQueues.
        files: The claim with the team's files, if there is one.
        source: The volume that it names.
        claims: All claims of the team, of members too.
        volumes: The volumes of members' claims.
    """
    name, ours = str(team["metadata"]["name"]), usernames(team, users)
    role = queues.MEMBER_ROLES.get(team["spec"].get("members", "none"))
    names = {
        "priorities": queues.PRIORITIES if kueue else {},
        "queues": cluster_queues(team, flavors, existing) if kueue else [],
        "binding": queues.MEMBERS,
        "role": role,
        "members": members(ours) if role else {},
        "label": {queues.TEAM_LABEL: name},
        "storage": (shared := storage(team, files)),
        "aliases": aliases(name, ours, bound_volume(files, source), claims, volumes)
        if shared
        else [],
    }
    return Values(names)


def usernames(team: Mapping[str, Any], users: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The members, by their namespace.

    Only those whose namespace exists and is theirs: the role of DevServerUsers said so.
    """
    return {
        namespace_of(user["metadata"]["name"], user["spec"].get("namespace")): str(
            user["spec"]["username"]
        )
        for user in users
        if user["spec"].get("team") == team["metadata"]["name"]
        and find(user.get("status", {}), APPLIED).get("status") == "True"
    }


def members(ours: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of a member's colleagues, by the member's namespace."""
    return {
        namespace: others
        for namespace, own in sorted(ours.items())
        if (others := sorted(set(ours.values()) - {own}))
    }
