"""The pods that a user makes to reach a job's volume: a loader for its files, one for a shell.

They carry none of our reserved labels: a job's role removes what is marked as the job's and was not
made by itself, and users may not mark.
"""

from __future__ import annotations

import secrets
import string
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.ephemeral_acceleration_job import MOUNT_PATH
from devctl.api.quantities import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME_LENGTH = 63
"""A pod's name is its host name, too."""
_LETTERS = string.ascii_lowercase + string.digits
_REQUESTS = {"cpu": "50m", "memory": "64Mi"}
_GPU = "nvidia.com/gpu"


class Role(NamedTuple):
    """What such a pod is for."""

    name: str
    mount: str
    seconds: int
    """After so long the cluster ends it, whatever has become of who made it."""


LOADER = Role("loader", MOUNT_PATH, 3600)
DEBUG = Role("debug", "/mnt", 8 * 3600)


def loader_name(job: str) -> str:
    """A name for a loader pod, which nobody else has.

    >>> len(loader_name("a" * 63)), loader_name("my-job")[:14]
    (63, 'loader-my-job-')
    """
    return _name(LOADER.name, job, "".join(secrets.choice(_LETTERS) for _ in range(5)))


def debug_name(job: str, now: datetime | None = None) -> str:
    """A name for a debug pod, which tells when it was made.

    >>> debug_name("my-job", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    'debug-my-job-20260102030405'
    """
    return _name(DEBUG.name, job, f"{now or datetime.now(UTC):%Y%m%d%H%M%S}")


def _name(role: str, job: str, end: str) -> str:
    room = NAME_LENGTH - len(role) - len(end) - 2
    return f"{role}-{job[:room].rstrip('-')}-{end}"


def needs(resources: Mapping[str, Any]) -> dict[str, str]:
    """What the first pod on a volume asks for: the volume may be bound to its node for ever.

    So it asks for at least what its job will ask for, or the job would find no room beside its
    volume.

    >>> needs({"gpu": 1, "cpu": "20m", "memory": "1Gi"})
    {'cpu': '50m', 'memory': '1Gi', 'nvidia.com/gpu': '1'}
    """
    wanted = {"cpu": resources.get("cpu", "500m"), "memory": resources.get("memory", "1Gi")}
    found = {
        name: str(max(least, wanted[name], key=parse_quantity)) for name, least in _REQUESTS.items()
    }
    gpus = int(resources.get("gpu", 1))
    return {**found, _GPU: str(gpus)} if gpus else found


def helper_pod(  # noqa: PLR0913 - each is a fact of the pod
    role: Role,
    name: str,
    job: str,
    claim: str,
    image: str,
    *,
    asks: Mapping[str, str] | None = None,
    node: str = "",
) -> dict[str, Any]:
    """The manifest of such a pod.

    Args:
        role: What it is for.
        name: Its name.
        job: The job whose volume it mounts.
        claim: The claim of that volume.
        image: Any image with a shell, tar, find, stat, xargs and sha256sum.
        asks: Its requests; None for little.
        node: The node that has the volume in use, which no other can mount.
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
        # The volume may be on a node that is kept for pods with GPUs.
        "tolerations": [{"key": _GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [_container(role, image, asks or _REQUESTS)],
        "volumes": [
            {"name": "artifacts", "persistentVolumeClaim": {"claimName": claim}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
    }
    if node:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = {"nodeSelectorTerms": [term]}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        }
    labels = {
        "app.kubernetes.io/name": f"egpu-{role.name}",
        "app.kubernetes.io/managed-by": "egpu",
        "app.kubernetes.io/instance": job,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
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
