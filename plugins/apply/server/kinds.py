"""Where the API serves a kind.

The client's own discovery asks the server in every process; a run forks from a warm parent, so it
would ask in every run. What devctl applies is known and does not move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apply.errors import NotFoundError
from apply.manifests import Kind
from devctl.api.kinds import KINDS

# The name of each kind's collection, and whether its objects are in namespaces.
KNOWN = {
    **{Kind(own.api_version, own.name): (own.plural, own.namespaced) for own in KINDS},
    Kind("v1", "ConfigMap"): ("configmaps", True),
    Kind("v1", "PersistentVolumeClaim"): ("persistentvolumeclaims", True),
    Kind("v1", "Pod"): ("pods", True),
    Kind("v1", "Secret"): ("secrets", True),
    Kind("v1", "Service"): ("services", True),
    Kind("apps/v1", "StatefulSet"): ("statefulsets", True),
}


def prefix(kind: Kind) -> str:
    """The path of a kind's API version."""
    return f"/{'apis' if '/' in kind.api_version else 'api'}/{kind.api_version}"


def discover(kind: Kind, ask: Callable[[str], Mapping[str, Any]]) -> tuple[str, bool]:
    """The same for a kind that is not known here, as the API says it.

    Args:
        kind: The kind.
        ask: Reads a path of the API.

    Raises:
        NotFoundError: The API does not serve the kind.
    """
    try:
        served = ask(prefix(kind))["resources"]
    except NotFoundError:
        served = []
    for resource in served:
        if resource["kind"] == kind.kind and "/" not in resource["name"]:
            return str(resource["name"]), bool(resource["namespaced"])
    raise NotFoundError(f"the API serves no {kind.kind} in {kind.api_version}")
