"""What a run did, and the diffs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from apply.manifests import Key, key_of

_HIDDEN = "(hidden)"
# The server's bookkeeping, which differs even if nothing has changed.
_BOOKKEEPING = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


class Action(StrEnum):
    """What happened to an object, in kubectl's words."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"


@dataclass
class Report:
    """What was done so far; also correct for a run that failed halfway."""

    objects: dict[Key, dict[str, Any]] = field(default_factory=dict)
    pruned: list[dict[str, str]] = field(default_factory=list)
    differences: list[dict[str, Any]] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return bool(self.pruned) or any(
            entry["action"] != Action.UNCHANGED for entry in self.objects.values()
        )

    def applied(self, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> None:
        """Note an object that was applied."""
        key, action = key_of(after), compare(before, after)
        if action is not Action.UNCHANGED:
            self._differs(before, after)
        elif key in self.objects:
            # A second pass after a fault must not hide what the first one did.
            action = self.objects[key]["action"]
        version = after["metadata"].get("resourceVersion", "")
        self.objects[key] = {**_name(key), "resourceVersion": version, "action": str(action)}

    def deleted(self, before: Mapping[str, Any]) -> None:
        """Note an object that was pruned or removed."""
        self.pruned.append(_name(key_of(before)))
        self._differs(before, None)

    def result(self) -> dict[str, Any]:
        """As a task's result."""
        objects = list(self.objects.values())
        return {"changed": self.changed, "objects": objects, "pruned": self.pruned}

    def _differs(self, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
        header = str(key_of(after or before or {}))
        shown = {"before": visible(before, None), "after": visible(after, before)}
        self.differences.append({"before_header": header, "after_header": header, **shown})


def compare(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> Action:
    """What happened to an object.

    Resource versions do not tell: a dry run does not change them, and they also differ if a status
    was written since we read, or the operator's cache answered. Therefore the content decides, and
    which manager holds which field.
    """
    if before is None:
        return Action.CREATED
    equal = content(before) == content(after) and _held(before) == _held(after)
    return Action.UNCHANGED if equal else Action.CONFIGURED


def _held(thing: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Which manager holds which fields, without the status and the times."""
    entries: list[dict[str, Any]] = thing["metadata"].get("managedFields") or []
    return [
        {name: value for name, value in entry.items() if name != "time"}
        for entry in entries
        if not entry.get("subresource")
    ]


def content(thing: Mapping[str, Any]) -> dict[str, Any]:
    """An object without its status and the server's bookkeeping."""
    metadata = {k: v for k, v in thing["metadata"].items() if k not in _BOOKKEEPING}
    return {k: v for k, v in thing.items() if k != "status"} | {"metadata": metadata}


def visible(thing: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> dict[str, Any]:
    """An object as a diff may show it: of a Secret's values only whether they have changed."""
    if thing is None:
        return {}
    shown = content(thing)
    if thing["kind"] == "Secret":
        known = (other or {}).get("data") or {}
        shown["data"] = {
            name: _HIDDEN if other is None or known.get(name) == value else f"{_HIDDEN}, changed"
            for name, value in (thing.get("data") or {}).items()
        }
        shown.pop("stringData", None)
    return shown


def _name(key: Key) -> dict[str, str]:
    return {"apiVersion": key.kind.api_version, "kind": key.kind.kind, "name": key.name}
