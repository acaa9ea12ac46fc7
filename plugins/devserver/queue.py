"""How a server waits in its team's queue.

Kueue admits a StatefulSet as a whole, and counts its pods as long as it exists. It refuses another
size, queue or node for the pods, even if there are none, and keeps the place of the first start. So
each start is a new StatefulSet.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from apply.errors import ApplyError

from devctl.api import queues
from devctl.api.applied import Reason
from devctl.api.flavors import gives_the_same
from devctl.api.made_from import MadeFrom
from devctl.api.pod_spec import shape
from devctl.api.team_quotas import most_pods


def queue_labels(made: MadeFrom) -> dict[str, str]:
    """The labels by which Kueue queues what is created from that; empty outside of teams."""
    if not made.spec.get("team"):
        return {}
    return queues.queue_labels(made.flavor, made.spec.get("priority"))


def is_queued(statefulset: Mapping[str, Any] | None) -> bool:
    """Whether Kueue counts a StatefulSet."""
    return queues.QUEUE_NAME in (statefulset or {}).get("metadata", {}).get("labels", {})


def must_be_recreated(
    statefulset: Mapping[str, Any], before: MadeFrom | None, made: MadeFrom
) -> bool:
    """Whether a server that is to start, or waits for its first pod, needs a new StatefulSet.

    Args:
        statefulset: The existing one.
        before: What its pods are created from; None if unknown.
        made: What they are to be created from.
    """
    if before is None or not (is_queued(statefulset) or queue_labels(made)):
        return False
    return (
        not statefulset["spec"].get("replicas", 1)
        or shape(before.spec)[0] != shape(made.spec)[0]
        or queue_labels(before) != queue_labels(made)
        or not gives_the_same(before.flavor_spec, made.flavor_spec)
    )


def leaves_queue(statefulset: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a server that is to stop has not started yet, or was preempted.

    Kueue leaves a StatefulSet without replicas in its queue if it waits there, and later gives it
    quota that nobody uses. Only its deletion takes it out.
    """
    started = any(
        pod.get("spec", {}).get("nodeName") and not pod["metadata"].get("deletionTimestamp")
        for pod in pods
    )
    return is_queued(statefulset) and statefulset["spec"].get("replicas", 1) > 0 and not started


def refuse_too_large(
    made: MadeFrom, teams: Sequence[Mapping[str, Any]], cordoned: Collection[str] = ()
) -> None:
    """Stop a server that its team could never start: it would block the team's queue.

    Args:
        made: What its pods are created from.
        teams: Every DevServerTeam.
        cordoned: Flavors that no server can change to.

    Raises:
        ApplyError: The team does not exist, or its quota is too small even if all of it is free.
    """
    name = made.spec.get("team")
    if not name:
        return
    most = most_pods(name, made.flavor, teams, cordoned)
    if most.problem:
        raise ApplyError(Reason.INVALID, most.problem)
    wanted = shape(made.spec)[0]
    if wanted > most.pods:
        message = (
            f"the server needs {wanted} pods of flavor `{made.flavor}`, and team `{name}` can have"
            f" {most.pods} at most: make it smaller, or ask an administrator to raise the quota"
        )
        raise ApplyError(Reason.INVALID, message)
