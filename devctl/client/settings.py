"""What an administrator has set for all users of a cluster."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from devctl.errors import DeniedError, NotFoundError, UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster, Object

IMAGE = "DEVCTL_IMAGE"
"""The environment's variable that names the image of servers that ask for none."""
VERSION = "app.kubernetes.io/version"
"""Its label that names the release."""
NAME = "devctl-settings"
"""The ConfigMap that holds it."""
NAMESPACE = "devctl-system"


def default_image(cluster: Cluster) -> str:
    """The image of servers that ask for none; empty where the administrator has set none."""
    return _settings(cluster).get("image", "")


def image_of_servers(cluster: Cluster) -> str:
    """The image of servers that ask for none: that of DEVCTL_IMAGE, else the cluster's.

    Raises:
        UsageError: Neither is set.
    """
    if image := os.environ.get(IMAGE) or default_image(cluster):
        return image
    raise UsageError(
        "no image is named, and the cluster has no default image",
        f"name one with --image or {IMAGE}, or have an administrator set `image` in the "
        "ConfigMap `devctl-settings`",
    )


def completed(cluster: Cluster, spec: Object, there: Object | None = None) -> Object:
    """A server's spec with an image and an owner: those that it has, else whose they would be.

    Args:
        cluster: Where it is.
        spec: As it is wanted.
        there: As it is.

    Raises:
        UsageError: Nobody says which image.
    """
    there = there or {}
    spec = dict(spec)
    if "image" not in spec:
        spec["image"] = there.get("image") or image_of_servers(cluster)
    if "owner" not in spec:
        spec["owner"] = there.get("owner") or cluster.whoami()
    return spec


def installed_version(cluster: Cluster) -> str:
    """The release that is installed in the cluster; empty where it does not say."""
    labels = _found(cluster).get("metadata", {}).get("labels") or {}
    return str(labels.get(VERSION, ""))


def loader_image(cluster: Cluster) -> str:
    """The image of the pods that move files of jobs; empty where the administrator has set none.

    That of servers has all that such a pod needs.
    """
    settings = _settings(cluster)
    return settings.get("loaderImage") or settings.get("image", "")


def _settings(cluster: Cluster) -> dict[str, str]:
    data = _found(cluster).get("data") or {}
    return {str(name): str(value) for name, value in data.items()}


def _found(cluster: Cluster) -> Object:
    try:
        return cluster.get(resources.ConfigMap, NAME, NAMESPACE)
    except (NotFoundError, DeniedError):
        return {}
