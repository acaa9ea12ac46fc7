"""How large each home is. Homes only grow, whatever is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from devctl.api.devserver import home_names
from devctl.api.quantities import larger

# What the API server puts in by itself; to apply it would be a write.
_DEFAULTS = {"volumeMode": "Filesystem", "creationTimestamp": None}


def homes(
    name: str, count: int, wanted: str | int, claims: Iterable[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """Name and size of the claim of each pod.

    A home that is there keeps its size if it is larger: a server that was deleted and made again
    with a smaller one would otherwise never start.

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
    """The StatefulSet's claim templates, of which nothing can ever change once they are made.

    Homes grow through their claims, which the role renders itself.

    Args:
        statefulset: As it is now; None where there is none yet.
        metadata: Of the homes of a new one: the controller makes one that is missing, too.
        wanted: The size of the homes of a new one.
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
