"""Where the API serves a kind.

The client's own discovery asks the server in every process; a run forks from a warm parent, so it
would ask in every run. What devctl applies is known and does not move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubernetes.dynamic.resource import Resource

from apply.errors import NotFoundError
from apply.manifests import Kind
from devctl.api import ephemeral_acceleration_job as job
from devctl.api.labels import GROUP, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The name of each kind's collection, and whether its objects are in namespaces.
KNOWN = {
    Kind(f"{GROUP}/{VERSION}", "DevServer"): ("devservers", True),
    Kind(f"{GROUP}/{VERSION}", "DevServerFlavor"): ("devserverflavors", False),
    Kind(f"{job.GROUP}/{job.VERSION}", job.KIND): (job.PLURAL, True),
    Kind("v1", "ConfigMap"): ("configmaps", True),
    Kind("v1", "PersistentVolumeClaim"): ("persistentvolumeclaims", True),
    Kind("v1", "Pod"): ("pods", True),
    Kind("v1", "Secret"): ("secrets", True),
    Kind("v1", "Service"): ("services", True),
    Kind("apps/v1", "StatefulSet"): ("statefulsets", True),
}


def find(kind: Kind, ask: Callable[[str], Mapping[str, Any]], client: Any) -> Resource:
    """The client's handle of a kind.

    Args:
        kind: The kind.
        ask: Reads a path of the API, for kinds that are not known here.
        client: The dynamic client that the handle is to use.

    Raises:
        NotFoundError: The API does not serve the kind.
    """
    group, _, version = kind.api_version.rpartition("/")
    plural, namespaced = KNOWN.get(kind) or _discover(kind, ask)
    return Resource(
        prefix="apis" if group else "api",
        group=group,
        api_version=version,
        kind=kind.kind,
        namespaced=namespaced,
        name=plural,
        client=client,
    )


def _discover(kind: Kind, ask: Callable[[str], Mapping[str, Any]]) -> tuple[str, bool]:
    prefix = "apis" if "/" in kind.api_version else "api"
    try:
        served = ask(f"/{prefix}/{kind.api_version}")["resources"]
    except NotFoundError:
        served = []
    for resource in served:
        if resource["kind"] == kind.kind and "/" not in resource["name"]:
            return str(resource["name"]), bool(resource["namespaced"])
    raise NotFoundError(f"the API serves no {kind.kind} in {kind.api_version}")
