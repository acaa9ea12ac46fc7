"""What an administrator has set for all users of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.errors import DeniedError, NotFoundError
from devctl.kube import resources

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster

NAME = "devctl-settings"
"""The ConfigMap that holds it."""
NAMESPACE = "devctl-system"


def default_image(cluster: Cluster) -> str:
    """The image of servers that ask for none; empty where the administrator has set none."""
    return _settings(cluster).get("image", "")


def loader_image(cluster: Cluster) -> str:
    """The image of the pods that move files of jobs; empty where the administrator has set none.

    That of servers has all that such a pod needs.
    """
    settings = _settings(cluster)
    return settings.get("loaderImage") or settings.get("image", "")


def _settings(cluster: Cluster) -> dict[str, str]:
    try:
        found = cluster.get(resources.ConfigMap, NAME, NAMESPACE)
    except (NotFoundError, DeniedError):
        return {}
    return {str(name): str(value) for name, value in (found.get("data") or {}).items()}
