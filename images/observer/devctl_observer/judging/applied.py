"""What the role's condition `Applied` means for a server that runs, and for one that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.devserver import Condition
from devctl_observer.judging.conditions import FALSE, find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_observer.judging.model import Item


def role_said(item: Item) -> Mapping[str, Any]:
    """The condition Applied of the present generation; empty where there is none yet.

    The condition of an earlier generation speaks of a spec that is no longer there.
    """
    said = find(item.status, Condition.APPLIED)
    return said if said.get("observedGeneration") == item.metadata.generation else {}


def failure(item: Item) -> Mapping[str, Any]:
    """The condition Applied, if it says that the present generation was not; else empty."""
    said = role_said(item)
    return said if said.get("status") == FALSE else {}
