"""Which nodes a server's pods prefer because they have its image ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from devctl.api.cache_affinity import items_of, needed, terms
from devctl.api.made_from import MadeFrom
from devserver.pods import recorded

Term = dict[str, Any]


def preferred(
    image: str, plans: Sequence[Mapping[str, Any]], kept: Mapping[str, Any] | None
) -> list[Term]:
    """The terms of a preferred node affinity; none without a CachePlan.

    Args:
        image: The image of its pods.
        plans: The CachePlan, if there is one.
        kept: The StatefulSet whose terms stay as they are, as `settled` gives it.
    """
    if kept is None:
        return terms(needed(items_of(plans), image=image))
    affinity = kept["spec"]["template"]["spec"].get("affinity") or {}
    node = affinity.get("nodeAffinity") or {}
    return list(node.get("preferredDuringSchedulingIgnoredDuringExecution") or [])


def settled(
    server: Mapping[str, Any],
    statefulset: Mapping[str, Any] | None,
    pods: Sequence[Mapping[str, Any]],
    made: MadeFrom,
) -> Mapping[str, Any] | None:
    """The StatefulSet, if its pods are there and nothing but the plan can have changed.

    Its template then stays: a changed plan must not seem to need a restart.
    """
    there = any("deletionTimestamp" not in pod["metadata"] for pod in pods)
    return statefulset if there and recorded(server, statefulset) == made else None
