"""The API path of a kind.

The client's discovery would send requests in every run, because each is a new process. The kinds
that devctl applies are known and do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apply.errors import NotFoundError
from apply.manifests import Kind
from devctl.api.kinds import KINDS
from devctl.api.queues import KUEUE

# The plural of each kind, and whether it is namespaced.
KNOWN = {
    **{Kind(own.api_version, own.name): (own.plural, own.namespaced) for own in KINDS},
    Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition"): (
        "customresourcedefinitions",
        False,
    ),
    # Known without discovery, which fails where Kueue is not installed.
    Kind(KUEUE, "ClusterQueue"): ("clusterqueues", False),
    Kind(KUEUE, "LocalQueue"): ("localqueues", True),
    Kind(KUEUE, "ResourceFlavor"): ("resourceflavors", False),
    Kind(KUEUE, "WorkloadPriorityClass"): ("workloadpriorityclasses", False),
    Kind("v1", "ConfigMap"): ("configmaps", True),
    Kind("v1", "Namespace"): ("namespaces", False),
    Kind("v1", "PersistentVolume"): ("persistentvolumes", False),
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
    """The same for any other kind, from the API server.

    Args:
        kind: The kind.
        ask: Reads an API path.

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
    raise NotFoundError(f"the API server does not serve kind {kind.kind} in {kind.api_version}")
