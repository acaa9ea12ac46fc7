"""The LocalQueues of a user: one per flavor of the team."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from devctl.api.queues import cluster_queue, local_queue


def local_queues(team: str, teams: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The ClusterQueue of each LocalQueue, by name.

    Args:
        team: The user's team; empty if there is none.
        teams: Every DevServerTeam.
    """
    flavors = sorted(
        str(quota["name"])
        for found in teams
        if found["metadata"]["name"] == team
        for quota in found["spec"].get("flavors", [])
    )
    return {local_queue(flavor): cluster_queue(team, flavor) for flavor in flavors}


def moved(wanted: Mapping[str, str], existing: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The LocalQueues of another team: theirs cannot be changed, so they are created again."""
    return [
        dict(queue)
        for queue in existing
        if wanted.get(queue["metadata"]["name"], queue["spec"]["clusterQueue"])
        != queue["spec"]["clusterQueue"]
    ]
