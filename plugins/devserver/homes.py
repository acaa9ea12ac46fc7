"""How large each home is. Homes only grow, whatever is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.devserver import home_names
from devctl.api.quantities import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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
        {"name": home, "size": _larger(there.get(home), str(wanted))}
        for home in home_names(name, count)
    ]


def _larger(there: str | None, wanted: str) -> str:
    if there is not None and parse_quantity(there) >= parse_quantity(wanted):
        return there
    return wanted


def claim_template_size(statefulset: Mapping[str, Any] | None, wanted: str | int) -> str:
    """The size in the StatefulSet's claim template, which can never change once it is made.

    Homes grow through their claims, which the role renders itself.
    """
    for template in (statefulset or {}).get("spec", {}).get("volumeClaimTemplates", []):
        if template["metadata"]["name"] == "home":
            return str(template["spec"]["resources"]["requests"]["storage"])
    return str(wanted)
