"""Which nodes a run prefers because of what they have ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devctl.api.cache_affinity import items_of, needed, terms
from vllm_run.plan import Plans


def cached(spec: Mapping[str, Any], plans: Plans, image: str) -> list[dict[str, Any]]:
    """The terms by which the pod prefers nodes that have what it needs; none without a plan.

    Args:
        spec: The run's.
        plans: The CachePlan, if there is one.
        image: The reference of its image.
    """
    repo, models = str(spec.get("repoName", "")), spec.get("models", [])
    return terms(needed(items_of(plans), image=image, repo=repo, models=models))
