"""What nodes have of the CachePlan, as their agents report it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from devctl.api.image_names import full_name
from devctl.api.node_cache import FIELDS, READY

Item = Mapping[str, Any]
"""An item of the plan, as it is stored."""
Name = tuple[str, str]
"""An item's type and name in the plan."""


class Plan(NamedTuple):
    """What is stored of the CachePlan."""

    version: str
    items: Sequence[Item] = ()


class Cached(NamedTuple):
    """How far an item is on a node."""

    status: str
    present: bool = False
    seconds: int = 0
    """How long it took to fetch; 0 if that is not known."""

    @property
    def ready(self) -> bool:
        """Whether the node has it as the plan wants it."""
        return self.present and self.status == READY


Contents = Mapping[Name, Cached]
"""What a node has, or is to have."""


def plan_of(found: Mapping[str, Any]) -> Plan:
    """What is stored of the CachePlan."""
    version = str(found["metadata"].get("resourceVersion", ""))
    return Plan(version, tuple((found.get("spec") or {}).get("items") or ()))


def contents_of(found: Mapping[str, Any]) -> Contents:
    """What is stored of a NodeCacheStatus; not when it was written, which is no news."""
    status = found.get("status") or {}
    return {
        (kind, str(each["name"])): Cached(
            str(each["status"]), bool(each["present"]), int(each.get("fetchSeconds", 0))
        )
        for kind, field in FIELDS.items()
        for each in status.get(field) or ()
    }


def images_of(items: Iterable[Item], contents: Contents) -> frozenset[str]:
    """The whole names of the plan's images that a node has."""
    refs = {item["name"]: item["image"]["ref"] for item in items if item["type"] == "image"}
    return frozenset(
        full_name(str(refs[name]))
        for (kind, name), cached in contents.items()
        if kind == "image" and cached.present and name in refs
    )
