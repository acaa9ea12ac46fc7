"""The ClusterQueues of a team.

Each flavor has its own, so that a server always counts against the flavor that it names: within one
ClusterQueue, Kueue would choose among the flavors itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from devctl.api.placing import with_limits
from devctl.api.quantities import times
from devctl.api.queues import (
    COHORT,
    ENABLED,
    FLAVOR_LABEL,
    QUEUES,
    cluster_queue,
    label_value,
)


def cluster_queues(
    team: Mapping[str, Any],
    flavors: Sequence[Mapping[str, Any]],
    existing: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Name, labels and spec of each, by flavor.

    A queue stays as it is while its flavor does not exist: servers that run still count there.

    Args:
        team: The DevServerTeam.
        flavors: Every DevServerFlavor.
        existing: The team's ClusterQueues.
    """
    known = {str(flavor["metadata"]["name"]): flavor["spec"] for flavor in flavors}
    there = {str(queue["metadata"]["name"]): queue["spec"] for queue in existing}
    cohort, found = team["spec"].get("cohort", COHORT), []
    for quota in team["spec"].get("flavors", []):
        flavor = str(quota["name"])
        name = cluster_queue(str(team["metadata"]["name"]), flavor)
        if flavor in known:
            spec = _spec(quota, known[flavor], cohort)
        elif name in there:
            spec = {field: there[name][field] for field in _FIELDS if field in there[name]}
        else:
            continue
        found.append({"name": name, "labels": {FLAVOR_LABEL: label_value(flavor)}, "spec": spec})
    return sorted(found, key=lambda queue: str(queue["name"]))


_FIELDS = ("cohortName", "namespaceSelector", "queueingStrategy", "preemption", "resourceGroups")


def _spec(quota: Mapping[str, Any], flavor: Mapping[str, Any], cohort: str) -> dict[str, Any]:
    resources = flavor["resources"]
    requests = with_limits(resources["requests"], resources.get("limits", {}))
    amounts = []
    for name, amount in sorted(requests.items()):
        bounds = {"name": name, "nominalQuota": times(amount, quota["pods"])}
        if "borrow" in quota:
            bounds["borrowingLimit"] = times(amount, quota["borrow"])
        amounts.append(bounds)
    gives_way = bool(flavor.get("preemptible"))
    return {
        "cohortName": cohort,
        "namespaceSelector": {"matchLabels": {QUEUES: ENABLED}},
        # In order: a distributed server would otherwise wait forever while smaller ones pass it.
        "queueingStrategy": "StrictFIFO",
        "preemption": {
            "withinClusterQueue": "LowerPriority" if gives_way else "Never",
            "reclaimWithinCohort": "Any" if gives_way else "Never",
        },
        "resourceGroups": [
            {
                "coveredResources": sorted(requests),
                "flavors": [{"name": str(quota["name"]), "resources": amounts}],
            }
        ],
    }
