"""Short-lived pods that mount a job's volume: a loader for its files, one for a debug shell.

They carry none of our reserved labels: a job's role removes objects marked as the job's that it did
not create, and users may not set those marks.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from devctl.api.ephemeral_acceleration_job import MOUNT_PATH
from devctl.api.quantities import GPU, parse_quantity
from devctl.client.files.remote import Advice, Place
from devctl.client.homes import mounts
from devctl.client.jobs.claim import find_claim
from devctl.client.jobs.job import Job
from devctl.client.jobs.pod_startup import wait_started
from devctl.client.settings import loader_image
from devctl.client.waiting import ignore
from devctl.errors import ConnectionLostError, DeniedError, DevctlError, NotFoundError, UsageError
from devctl.kube import resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Unpack

    from devctl.client.homes import Volume
    from devctl.client.jobs.pod_startup import Trouble
    from devctl.kube.cluster import Cluster, Object

TIMEOUT = 600.0
"""Default seconds for such a pod to start: provisioning the volume and pulling its image count."""
_NAME_LENGTH = 63
"""Of a host name, which a pod's name becomes."""
_REQUESTS = {"cpu": "50m", "memory": "64Mi"}


class Role(NamedTuple):
    """What such a pod is for."""

    name: str
    mount: str
    seconds: int
    """After this long the cluster ends it, in case its creator could not."""


LOADER = Role("loader", MOUNT_PATH, 3600)
DEBUG = Role("debug", "/mnt", 8 * 3600)


class Target(NamedTuple):
    """A job's volume, and what a pod needs that mounts it first."""

    job: str
    claim: Volume
    advice: Advice
    """What people can do if files cannot be moved."""
    requests: Mapping[str, str] | None = None
    """What it requests; None for the minimum."""
    selector: Mapping[str, str] | None = None
    """The labels of the nodes that it can run on."""


class PodOptions(TypedDict, total=False):
    """Options of a helper pod."""

    image: str
    """Default: the cluster's."""
    seconds: float
    """How long it may take to start; default: TIMEOUT."""
    progress: Callable[[Trouble], None]
    """Told why it is not running yet."""
    keep: Callable[[], bool]
    """Asked at the end whether to leave the pod running."""


_ADVICE = Advice(
    look="look at it with `egpu debug`",
    no_room="create the job again with a larger --pvc-size",
    read_only="ask an administrator to look at the storage class",
    denied="change its mode with `egpu debug`",
    no_tar="name an image with tar in it with --loader-image",
)


def target_of(cluster: Cluster, job: str) -> Target:
    """The volume of an ephemeral job; raises NotFoundError if it has none."""
    claim = find_claim(cluster, job)
    requests = selector = None
    if not claim.bound:
        with suppress(NotFoundError):
            found = Job(cluster.get(resources.EphemeralAccelerationJob, job))
            requests = needs(found.spec.get("resources") or {})
            selector = _nodes(cluster, found)
    return Target(job, claim, _ADVICE, requests, selector)


def helper(
    cluster: Cluster, job: str, role: Role, **options: Unpack[PodOptions]
) -> AbstractContextManager[Place]:
    """A running pod with the volume of an ephemeral job, as `mounting` does.

    Raises:
        NotFoundError: The job has no claim.
    """
    return mounting(cluster, target_of(cluster, job), role, **options)


@contextmanager
def mounting(
    cluster: Cluster, target: Target, role: Role, **options: Unpack[PodOptions]
) -> Iterator[Place]:
    """A running pod with a job's volume, deleted at the end of the `with` block.

    Raises:
        WaitTimeoutError: The pod does not start in time.
        DevctlError: It cannot start.
    """
    image = options.get("image") or loader_image(cluster)
    if not image:
        raise UsageError(
            "no image is named for the pod that mounts the volume, and the cluster has no default",
            "name one with --loader-image or EGPU_LOADER_IMAGE, or have an administrator set "
            "`loaderImage` in the ConfigMap `devctl-settings`",
        )
    manifest = _manifest(cluster, target, role, image)
    pod: Object | None = None
    failed = True
    try:
        pod = cluster.create(resources.Pod, manifest)
        progress = options.get("progress", ignore)
        wait_started(cluster, pod, options.get("seconds", TIMEOUT), progress)
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        try:
            yield Place(
                cluster,
                namespace,
                name,
                role.mount,
                container=role.name,
                owner=target.claim.name,
                advice=target.advice,
            )
        except ConnectionLostError as error:
            raise ConnectionLostError(
                error.message, "repeat the command: no file was left half-written under its name"
            ) from error
        failed = False
    finally:
        if not (pod and options.get("keep", lambda: False)()):
            _remove(cluster, manifest["metadata"]["name"], pod, quietly=failed)


def _remove(cluster: Cluster, name: str, pod: Object | None, *, quietly: bool) -> None:
    """Delete the pod, even on a second Ctrl-C; quietly if there is another error to report."""
    try:
        # One whose creation was interrupted may exist all the same.
        pod = pod or cluster.get(resources.Pod, name)
        try:
            cluster.delete(resources.Pod, pod)
        except KeyboardInterrupt:
            cluster.delete(resources.Pod, pod)
            raise
    except NotFoundError:
        return
    except DevctlError as error:
        if not quietly:
            raise DevctlError(
                f"pod `{name}` could not be deleted: {error.message}",
                f"it ends by itself; until then it uses the volume: `kubectl delete pod {name}`",
            ) from error


def pod_name(role: Role, job: str) -> str:
    """A name for a helper pod; it ends with the time for DEBUG, else with random characters.

    >>> len(pod_name(LOADER, "a" * 63)), pod_name(LOADER, "my-job")[:14]
    (63, 'loader-my-job-')
    """
    end = f"{datetime.now(UTC):%Y%m%d%H%M%S}" if role is DEBUG else secrets.token_hex(3)
    room = _NAME_LENGTH - len(role.name) - len(end) - 2
    return f"{role.name}-{job[:room].rstrip('-')}-{end}"


def needs(wanted: Mapping[str, Any]) -> dict[str, str]:
    """The requests of the first pod on a volume, given the resources of its job.

    The volume may be bound to that pod's node for good, so the node has to have room for the job.

    >>> needs({"gpu": 1, "cpu": "20m", "memory": "1Gi"})
    {'cpu': '50m', 'memory': '1Gi', 'nvidia.com/gpu': '1'}
    """
    asked = {"cpu": wanted.get("cpu", "500m"), "memory": wanted.get("memory", "1Gi")}
    found = {
        name: str(max(least, asked[name], key=parse_quantity)) for name, least in _REQUESTS.items()
    }
    gpus = int(wanted.get("gpu", 1))
    return {**found, GPU: str(gpus)} if gpus else found


def _manifest(cluster: Cluster, target: Target, role: Role, image: str) -> Object:
    job, claim, _, requests, selector = target
    nodes = (
        str(pod["spec"].get("nodeName", ""))
        for pod in cluster.list(resources.Pod)
        if (claim.namespace, claim.name) in mounts([pod])
    )
    node = next(filter(None, nodes), "")
    return helper_pod(role, job, claim.name, image, requests=requests, selector=selector, node=node)


def _nodes(cluster: Cluster, job: Job) -> dict[str, str]:
    """The labels of nodes that Kueue adds to the job's pod, which cannot follow the volume."""
    if not job.flavor or not job.spec.get("team"):
        return {}
    try:
        flavor = cluster.find(resources.DevServerFlavor, job.flavor) or {}
    except DeniedError:
        return {}
    return dict((flavor.get("spec") or {}).get("nodeSelector") or {})


def helper_pod(  # noqa: PLR0913 - each is a property of the pod
    role: Role,
    job: str,
    claim: str,
    image: str,
    *,
    requests: Mapping[str, str] | None = None,
    selector: Mapping[str, str] | None = None,
    node: str = "",
) -> dict[str, Any]:
    """The manifest of a helper pod.

    Its image needs a shell, tar, find, stat, xargs and sha256sum. It requests the minimum by
    default. If the volume is in use on a node, no other node can mount it.
    """
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": role.seconds,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "runAsGroup": 1000,
            "fsGroup": 1000,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        # The volume may be on a node that is reserved for pods with GPUs.
        "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [_container(role, image, requests or _REQUESTS)],
        "volumes": [
            {"name": "artifacts", "persistentVolumeClaim": {"claimName": claim}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
    }
    if selector:
        spec["nodeSelector"] = dict(selector)
    if node:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        spec["affinity"] = {"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}}
    labels = {
        "app.kubernetes.io/name": f"egpu-{role.name}",
        "app.kubernetes.io/managed-by": "egpu",
        "app.kubernetes.io/instance": job,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod_name(role, job), "labels": labels},
        "spec": spec,
    }


def _container(role: Role, image: str, requests: Mapping[str, str]) -> dict[str, Any]:
    limits = {device: amount for device, amount in requests.items() if "/" in device}
    limits["memory"] = max("256Mi", requests["memory"], key=parse_quantity)
    limits["cpu"] = max("1", requests["cpu"], key=parse_quantity)
    return {
        "name": role.name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", str(role.seconds)],
        "workingDir": role.mount,
        "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108 - the pod's own
        "resources": {"requests": dict(requests), "limits": limits},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": role is LOADER,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "artifacts", "mountPath": role.mount},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
        ],
    }
