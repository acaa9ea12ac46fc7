"""The size of each home. Homes only grow, whatever the spec says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from devctl.api.devserver import home_names
from devctl.api.quantities import larger

# Defaulted by the API server; applying these would be a write.
_DEFAULTS = {"volumeMode": "Filesystem", "creationTimestamp": None}


def homes(
    name: str, count: int, wanted: str | int, claims: Iterable[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """Name and size of each pod's claim.

    An existing home keeps its size if that is larger: otherwise, a server that was recreated with a
    smaller home would never start.

    >>> homes("lab", 1, "1Gi", [])
    [{'name': 'home-lab-0', 'size': '1Gi'}]
    """
    there = {
        claim["metadata"]["name"]: claim["spec"]["resources"]["requests"]["storage"]
        for claim in claims
    }
    return [
        {"name": home, "size": larger(there.get(home), str(wanted))}
        for home in home_names(name, count)
    ]


def claim_templates(
    statefulset: Mapping[str, Any] | None,
    metadata: Mapping[str, Mapping[str, str]],
    wanted: str | int,
) -> list[dict[str, Any]]:
    """The StatefulSet's claim templates, which are immutable.

    Homes grow through their claims, which the role renders itself.

    Args:
        statefulset: The existing one, if any.
        metadata: Metadata of a new one's homes: the controller, too, creates missing ones.
        wanted: The size of a new one's homes.
    """
    live = (statefulset or {}).get("spec", {}).get("volumeClaimTemplates", [])
    if live:
        return [{part: _kept(template[part]) for part in ("metadata", "spec")} for template in live]
    return [
        {
            "metadata": {"name": "home", **metadata},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "devctl-home",
                "resources": {"requests": {"storage": str(wanted)}},
            },
        }
    ]


def _kept(part: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in part.items() if k not in _DEFAULTS or v != _DEFAULTS[k]}
