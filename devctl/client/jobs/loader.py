"""A pod of the user's own that has a job's volume mounted, for as long as a `with` block lasts."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from devctl.client.files.remote import Advice
from devctl.client.homes import mounts
from devctl.client.jobs.claim import find_claim
from devctl.client.jobs.helper_pod import DEBUG, debug_name, helper_pod, loader_name, needs
from devctl.client.jobs.job import Job
from devctl.client.jobs.pod_trouble import trouble
from devctl.client.settings import loader_image
from devctl.errors import (
    ConnectionLostError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.client.jobs.claim import Claim
    from devctl.client.jobs.helper_pod import Role
    from devctl.kube.cluster import Cluster, Object

TIMEOUT = 600.0
"""Seconds in which such a pod has to start: its volume may have to be made, its image pulled."""
PATIENCE = 10.0
"""Seconds for which an image may fail to be pulled: some registries stumble."""
_POLL = 0.25
_SLOW = 2.0
"""Seconds from which on events are asked for, too."""


class VolumePlace(NamedTuple):
    """A folder, or file, on a job's volume, as a helper pod sees it."""

    cluster: Cluster
    namespace: str
    pod: str
    container: str
    path: str
    claim: str

    @property
    def advice(self) -> Advice:
        """What is said where it fails."""
        return Advice(
            look="look at it with `egpu debug`",
            no_room="create the job again with a larger --pvc-size",
            read_only="ask an administrator to look at the storage class",
            denied="change its mode with `egpu debug`",
            no_tar="name an image with tar in it with --loader-image",
        )

    def __str__(self) -> str:
        """How a person names it."""
        return f"{self.claim}:{self.path}"


@contextmanager
def helper(  # noqa: PLR0913 - each is a choice of the caller
    cluster: Cluster,
    job: str,
    role: Role,
    *,
    image: str = "",
    seconds: float = TIMEOUT,
    progress: Callable[[str], None] = lambda _text: None,
    keep: Callable[[], bool] = lambda: False,
) -> Iterator[VolumePlace]:
    """A running pod with a job's volume, whose claim has to be there; gone afterwards.

    Args:
        cluster: Where the job is.
        job: Its name.
        role: What the pod is for.
        image: Its image; else the cluster's for such pods.
        seconds: How long it may take to start.
        progress: Told why it does not run yet.
        keep: Asked in the end whether the pod is to stay.

    Raises:
        WaitTimeoutError: It does not start in time.
        DevctlError: It cannot start.
    """
    claim = find_claim(cluster, job)
    image = image or loader_image(cluster)
    if not image:
        raise UsageError(
            "no image is named for the pod that reaches the volume, and the cluster has none",
            "name one with --loader-image or EGPU_LOADER_IMAGE, or have an administrator set "
            "`loaderImage` in the ConfigMap `devctl-settings`",
        )
    manifest = _manifest(cluster, claim, job, role, image)
    pod = _create(cluster, manifest)
    failed = True
    try:
        _wait(cluster, pod, seconds, progress)
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        try:
            yield VolumePlace(cluster, namespace, name, role.name, role.mount, claim.name)
        except ConnectionLostError as error:
            raise ConnectionLostError(
                error.message, "repeat the command: no file is left half-written in its place"
            ) from error
        failed = False
    finally:
        if not keep():
            _remove(cluster, pod, quietly=failed)


def _manifest(cluster: Cluster, claim: Claim, job: str, role: Role, image: str) -> Object:
    name = debug_name(job) if role is DEBUG else loader_name(job)
    asks = None
    if not claim.bound:
        with suppress(NotFoundError):
            found = Job(cluster.get(resources.EphemeralAccelerationJob, job))
            asks = needs(found.spec.get("resources") or {})
    pods = [
        pod
        for pod in cluster.list(resources.Pod)
        if (claim.namespace, claim.name) in mounts([pod]) and pod["spec"].get("nodeName")
    ]
    node = str(pods[0]["spec"]["nodeName"]) if pods else ""
    return helper_pod(role, name, job, claim.name, image, asks=asks, node=node)


def _create(cluster: Cluster, manifest: Object) -> Object:
    """Make the pod; where it is not known whether it was made, see that it is not."""
    try:
        return cluster.create(resources.Pod, manifest)
    except BaseException:
        with suppress(DevctlError):
            made = cluster.get(resources.Pod, manifest["metadata"]["name"])
            _remove(cluster, made, quietly=True)
        raise


def _remove(cluster: Cluster, pod: Object, *, quietly: bool) -> None:
    """Delete the pod, also if the person presses Ctrl-C once more.

    Args:
        cluster: Where it is.
        pod: The pod.
        quietly: Whether something else has gone wrong, which is what is told.
    """
    try:
        try:
            cluster.delete(resources.Pod, pod)
        except KeyboardInterrupt:
            cluster.delete(resources.Pod, pod)
            raise
    except NotFoundError:
        return
    except DevctlError as error:
        if not quietly:
            name = pod["metadata"]["name"]
            raise DevctlError(
                f"pod `{name}` could not be deleted: {error.message}",
                f"it ends by itself; until then it uses the volume: `kubectl delete pod {name}`",
            ) from error


def _wait(cluster: Cluster, made: Object, seconds: float, progress: Callable[[str], None]) -> None:
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    began = time.monotonic()
    failed_since: float | None = None
    while True:
        pod = cluster.get(resources.Pod, name)
        if pod["metadata"]["uid"] != uid:
            raise DevctlError(f"pod `{name}` was recreated by somebody", "repeat the command")
        slow = time.monotonic() - began > _SLOW
        found = trouble(pod, _warnings(cluster, pod) if slow else ())
        if found is None:
            return
        progress(str(found))
        now = time.monotonic()
        failed_since = (failed_since or now) if found.fatal else None
        ended = (pod.get("status") or {}).get("phase") in {"Failed", "Succeeded"}
        if failed_since and (ended or now - failed_since >= PATIENCE):
            raise DevctlError(f"pod `{name}` does not start: {found}", _fix(found.reason))
        if now - began >= seconds:
            raise WaitTimeoutError(
                f"pod `{name}` has not started after {seconds:.0f} s: {found}", _fix(found.reason)
            )
        time.sleep(_POLL)


def _warnings(cluster: Cluster, pod: Object) -> list[Object]:
    volumes = [volume.get("persistentVolumeClaim") for volume in pod["spec"].get("volumes", [])]
    names = {pod["metadata"]["name"], *(volume["claimName"] for volume in volumes if volume)}
    with suppress(DevctlError):
        return [
            event
            for event in cluster.list(resources.Event)
            if event.get("type") == "Warning" and event["involvedObject"].get("name") in names
        ]
    return []


def _fix(reason: str) -> str:
    if reason == "ImagePullFailed":
        return "name another image with --loader-image or EGPU_LOADER_IMAGE"
    if reason in {"Unschedulable", "VolumePending", "MountFailed"}:
        return "see `kubectl get pods` for what uses the volume or the node, and try again"
    return "try again; if it stays so, ask an administrator"
