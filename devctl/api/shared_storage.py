"""The field `sharedStorage` of users and teams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.quantities import larger

if TYPE_CHECKING:
    from collections.abc import Mapping


def class_and_size(wanted: Mapping[str, Any], claim: Mapping[str, Any] | None) -> dict[str, str]:
    """`class` and `size` of the claim: an existing one keeps its class, and only grows.

    Args:
        wanted: The field.
        claim: The claim, if it exists.
    """
    spec: Mapping[str, Any] = claim["spec"] if claim else {}
    size = spec.get("resources", {}).get("requests", {}).get("storage")
    return {
        "class": str(spec.get("storageClassName", wanted["storageClassName"])),
        "size": larger(size, str(wanted["size"])),
    }
