"""What of the CachePlan something needs, and how its pods prefer nodes that have it ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.image_names import full_name
from devctl.api.node_cache import READY, label_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Item = Mapping[str, Any]
    """An item of the plan, as it is stored."""
    Name = tuple[str, str]
    """An item's type and name."""

WEIGHTS = {"image": 50, "model": 30, "gitRepo": 20}
"""How much a type counts. All together weigh no more than a node that is preferred by its name."""


def items_of(plans: Iterable[Mapping[str, Any]]) -> list[Item]:
    """The items of the plan, if there is one."""
    return [item for plan in plans for item in plan.get("spec", {}).get("items", [])]


def needed(
    items: Sequence[Item], *, image: str = "", repo: str = "", models: Iterable[str] = ()
) -> list[Name]:
    """The items that something needs: those of the plan, in a stable order.

    Args:
        items: The plan's.
        image: The image's reference; all items of that image count, whatever they are called.
        repo: The name of a repository in the plan.
        models: Names of models there.

    >>> plan = [{"type": "image", "name": "py", "image": {"ref": "docker.io/library/python:3"}}]
    >>> needed(plan, image="python:3", repo="unknown")
    [('image', 'py')]
    """
    wanted = {("gitRepo", repo), *(("model", name) for name in models)}
    whole = full_name(image) if image else None
    return sorted(
        (item["type"], item["name"])
        for item in items
        if (item["type"], item["name"]) in wanted
        or (whole and item["type"] == "image" and full_name(item["image"]["ref"]) == whole)
    )


def terms(names: Sequence[Name]) -> list[dict[str, Any]]:
    """The terms of a preferred node affinity: items of a type share its weight.

    >>> [term["weight"] for term in terms([("image", "a"), ("model", "b"), ("model", "c")])]
    [50, 15, 15]
    """
    kinds = [kind for kind, _ in names]
    return [
        {
            "weight": max(1, WEIGHTS[kind] // kinds.count(kind)),
            "preference": {
                "matchExpressions": [
                    {"key": label_of(kind, name), "operator": "In", "values": [READY]}
                ]
            },
        }
        for kind, name in names
    ]
