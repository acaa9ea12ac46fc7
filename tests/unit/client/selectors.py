"""Label and field selectors as an API server reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def matches_labels(thing: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    """Whether an object has all labels; None asks for one of any value."""
    has = thing["metadata"].get("labels") or {}
    return all(_matches(has.get(name), wanted) for name, wanted in labels.items())


def matches_fields(thing: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    """Whether an object's fields, named as `metadata.name` is, are so."""
    return all(_matches(_field(thing, path), wanted) for path, wanted in fields.items())


def _field(thing: Any, path: str) -> Any:
    for part in path.split("."):
        thing = thing.get(part) if isinstance(thing, Mapping) else None
    return thing


def _matches(has: Any, wanted: Any) -> bool:
    if wanted is None:
        return has is not None
    if isinstance(wanted, str):
        return bool(has == wanted)
    assert isinstance(wanted, Iterable)
    return has in wanted
