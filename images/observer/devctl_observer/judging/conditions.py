"""Conditions as the API conventions define them, and the role's own condition, `Applied`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from devctl.api.applied import APPLIED
from devctl.api.conditions import find
from devctl_observer.judging.clocks import to_text
from devctl_observer.judging.model import Item

MESSAGE_LIMIT = 4096


TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


def word(status: bool) -> str:  # noqa: FBT001 - the value to convert
    """The status of a condition: True or False."""
    return TRUE if status else FALSE


def condition(kind: str, status: str, reason: str, message: str) -> dict[str, Any]:
    """A condition without timestamps."""
    message = message[:MESSAGE_LIMIT]
    return {"type": str(kind), "status": status, "reason": reason, "message": message}


def merge(wanted: Iterable[Mapping[str, Any]], item: Item, now: datetime) -> list[dict[str, Any]]:
    """Sort conditions by type and add timestamps; an unchanged status keeps its transition time."""
    generation, merged = item.metadata.generation, []
    for entry in sorted(wanted, key=lambda entry: str(entry["type"])):
        old = find(item.status, entry["type"])
        same = old.get("status") == entry["status"] and old.get("lastTransitionTime")
        since = old["lastTransitionTime"] if same else to_text(now)
        merged.append({**entry, "observedGeneration": generation, "lastTransitionTime": since})
    return merged


def own_part(status: Mapping[str, Any], types: Iterable[str]) -> dict[str, Any]:
    """A status without the conditions that others write."""
    ours = {str(kind) for kind in types}
    kept = [entry for entry in status.get("conditions", []) if entry.get("type") in ours]
    return {**status, "conditions": sorted(kept, key=lambda entry: str(entry["type"]))}


def role_said(item: Item) -> Mapping[str, Any]:
    """The condition Applied of the current generation; empty if there is none yet.

    That of an earlier generation is about an outdated spec.
    """
    said = find(item.status, APPLIED)
    return said if said.get("observedGeneration") == item.metadata.generation else {}


def is_settled(item: Item) -> bool:
    """Whether its role has applied the current spec, so that a missing child is a lost one."""
    return not item.going and role_said(item).get("status") == TRUE


def failure(item: Item) -> Mapping[str, Any]:
    """The condition Applied if it is False for the current generation; else empty."""
    said = role_said(item)
    return said if said.get("status") == FALSE else {}
