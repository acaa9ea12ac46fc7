"""The volume that a path of a pod is on, by what no other volume ever has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.errors import DeniedError, NotFoundError
from devctl.kube import resources
from devctl.kube.pod_streams import CONTAINER

if TYPE_CHECKING:
    from devctl.kube.cluster import Cluster, Object


def volume_of(cluster: Cluster, pod: Object, path: str) -> str:
    """What tells the volume that a path is on from all others, those of the same name too.

    It is the UID of its claim, which outlives pods and servers. What is on no claim goes with the
    pod, whose UID it has then; so it has where the user may not look at the claim.

    Args:
        cluster: Where the pod is.
        pod: The pod.
        path: An absolute path in its container `server`.
    """
    meta = pod["metadata"]
    own = str(meta.get("uid") or "")
    claim = _claim(pod, path)
    if not claim:
        return own
    try:
        found = cluster.get(resources.PersistentVolumeClaim, claim, meta["namespace"])
    except (DeniedError, NotFoundError):
        return own
    return str(found["metadata"].get("uid") or own)


def _claim(pod: Object, path: str) -> str:
    """The claim that a path is on; empty where it is on none."""
    spec = pod.get("spec") or {}
    containers = spec.get("containers") or []
    mounts = [
        mount
        for container in containers
        if container.get("name") == CONTAINER
        for mount in container.get("volumeMounts") or []
        if f"{path}/".startswith(f"{str(mount.get('mountPath', '')).rstrip('/')}/")
    ]
    if not mounts:
        return ""
    mount = max(mounts, key=lambda each: len(each["mountPath"]))
    volumes = {each.get("name"): each for each in spec.get("volumes") or []}
    claim = volumes.get(mount.get("name"), {}).get("persistentVolumeClaim") or {}
    return str(claim.get("claimName") or "")
