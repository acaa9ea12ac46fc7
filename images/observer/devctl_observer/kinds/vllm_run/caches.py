"""What a run's node had of what the run needs, when its pod got the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from devctl.api.cache_affinity import needed
from devctl.api.node_cache import PULLING
from devctl_observer.judging.caches import Cached, Contents, Item, Name
from devctl_observer.judging.pods import node_of
from devctl_observer.kinds.vllm_run.model import VLLMRunSpec
from devctl_observer.kinds.vllm_run.observed import Observed

_ABSENT = Cached("absent")


def cache_of(seen: Observed) -> Mapping[str, Any] | None:
    """What status says of the caches; None before the pod has a node, and if nothing is cached.

    It is judged once for each node of a pod: what comes later was not there for the run.
    """
    status = seen.run.status
    told: Mapping[str, Any] | None = status.get("cache")
    if status.get("startedAt"):
        return told
    node = node_of(seen.pod) if seen.pod else ""
    if not node:
        return None
    if told and status.get("node") == node:
        return told
    return judge_cache(seen.run.spec, seen.plan, seen.cached)


def judge_cache(spec: VLLMRunSpec, plan: Sequence[Item], cached: Contents) -> dict[str, Any] | None:
    """How far each item is that a run needs, and how many seconds those that are there save.

    Args:
        spec: The run's.
        plan: The items of the CachePlan.
        cached: What the node has.

    Returns:
        The field `cache` of the status; None if the run needs nothing of the plan.
    """
    refs = {each["name"]: each["image"]["ref"] for each in plan if each["type"] == "image"}
    image = spec.image or str(refs.get(spec.image_name, ""))
    names = needed(plan, image=image, repo=spec.repo_name, models=spec.models)
    if not names:
        return None
    found = {name: cached.get(name, _ABSENT) for name in names}
    # Several names may stand for one image, which is pulled once.
    images = sorted(_of("image", found).values(), key=_rank)[-1:]
    repositories, models = _of("gitRepo", found), _of("model", found)
    counted = [*images, *repositories.values(), *models.values()]
    return {
        **({"image": state(images[0])} if images else {}),
        **({"repository": state(*repositories.values())} if repositories else {}),
        **({"models": [{"name": n, "state": state(models[n])} for n in models]} if models else {}),
        "savedSeconds": sum(each.seconds for each in counted if each.ready),
    }


def state(cached: Cached) -> str:
    """How far an item is, in one word: ready, pulling or absent.

    >>> state(Cached("failed", present=True)), state(Cached("pulling"))
    ('absent', 'pulling')
    """
    if cached.ready:
        return cached.status
    return PULLING if cached.status == PULLING else _ABSENT.status


def _of(kind: str, found: Mapping[Name, Cached]) -> dict[str, Cached]:
    return {name: each for (its, name), each in found.items() if its == kind}


def _rank(cached: Cached) -> tuple[bool, bool, int]:
    return cached.ready, cached.status == PULLING, cached.seconds
