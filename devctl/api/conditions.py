"""Conditions of a status, as the API conventions have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def find(status: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """A status's condition of a type; empty where there is none.

    >>> find({"conditions": [{"type": "Ready", "status": "True"}]}, "Ready")["status"]
    'True'
    """
    found = (entry for entry in status.get("conditions") or [] if entry.get("type") == kind)
    return next(found, {})
