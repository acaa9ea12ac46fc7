"""What the API server says of claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from devctl_dra_plugin import caches, planning
from devctl_dra_plugin.planning import ClaimError, Preparation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl_dra_plugin.api import Api
    from devctl_dra_plugin.caches import IsThere
    from devctl_dra_plugin.devices import Device
    from devctl_dra_plugin.messages import ClaimRef

GROUP = "/apis/resource.k8s.io/v1"
_PAGE = 250


def read(api: Api, ref: ClaimRef) -> dict[str, Any]:
    """A claim.

    Raises:
        ClaimError: There is no such claim, or another one has its name.
        ApiError: It is not known.
    """
    where = f"namespaces/{quote(ref.namespace, safe='')}/resourceclaims"
    claim = api.get(f"{GROUP}/{where}/{quote(ref.name, safe='')}")
    if claim is None:
        raise ClaimError("there is no such claim")
    if claim["metadata"]["uid"] != ref.uid or not planning.is_uid(ref.uid):
        raise ClaimError(f"the claim of this name has another UID than {ref.uid}")
    return claim


def in_use(api: Api, node: str, devices: Sequence[Device], is_there: IsThere) -> list[Preparation]:
    """The claims that pods of a node may be using.

    Raises:
        ApiError: They are not known.
    """
    found: list[Preparation] = []
    start = ""
    while True:
        page = api.get(f"{GROUP}/resourceclaims?limit={_PAGE}&continue={quote(start)}") or {}
        found += [
            caches.found_with_cache(usable, claim, is_there)
            for claim in page.get("items", [])
            if (usable := planning.found_in_use(claim, node, devices))
        ]
        if not (start := page.get("metadata", {}).get("continue", "")):
            return found
