"""A job, its pod and its claim, as the API server stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ephemeral_acceleration_job.pod import made_from
from ephemeral_acceleration_job.values import identity, values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apply.values import Values

Thing = dict[str, Any]
OWNER = {
    "apiVersion": "gpu.yourdomain.io/v1alpha1",
    "kind": "EphemeralAccelerationJob",
    "name": "scan",
    "uid": "u1",
    "controller": True,
    "blockOwnerDeletion": True,
}
FINISHED = {"phase": "Succeeded", "startedAt": "t1", "finishedAt": "t2"}


def job(status: Thing | None = None, **spec: Any) -> Thing:
    """A job; its spec has the schema's defaults, except for the given fields."""
    defaults = {
        "model": "resnet50",
        "input": {"type": "image", "path": "/artifacts/input.jpg", "waitSeconds": 120},
        "output": {"path": "/artifacts/output.json"},
        "resources": {"gpu": 1, "cpu": "500m", "memory": "1Gi"},
        "ttlSecondsAfterFinished": 0,
        "pvcTTLSecondsAfterFinished": 3600,
        "pvcSize": "1Gi",
        "image": "gpu-job-inference:latest",
        "suspend": False,
    }
    return {
        "apiVersion": OWNER["apiVersion"],
        "kind": OWNER["kind"],
        "metadata": {"name": "scan", "namespace": "team", "uid": "u1", "generation": 1},
        "spec": defaults | spec,
        **({"status": status} if status else {}),
    }


def expired(kind: str, status: str = "True") -> Thing:
    """The status of a finished job, one of whose deadlines may have passed."""
    return FINISHED | {"conditions": [{"type": kind, "status": status}]}


def pod(
    status: Thing | None = None, made: str | None = None, uid: str = "u1", **metadata: Any
) -> Thing:
    """The job's pod, created from its current spec."""
    digest = made_from(job()) if made is None else made
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "ephemeralaccelerationjob-scan",
            "namespace": "team",
            "uid": "u2",
            "resourceVersion": "7",
            "labels": {"app": "gpu-job", **identity(job())},
            "annotations": {"gpu.yourdomain.io/made-from": digest},
            "ownerReferences": [OWNER | {"uid": uid}],
            **metadata,
        },
        "status": {"phase": "Pending"} | (status or {}),
    }


def claim(
    size: str = "1Gi", storage_class: str = "standard", applied: str | None = None, **metadata: Any
) -> Thing:
    """The job's claim.

    Args:
        size: The requested size.
        storage_class: Its class.
        applied: The operation that has set the class; None if the server defaulted it.
        metadata: Further metadata.
    """
    fields: Thing = {"f:spec": {"f:storageClassName": {}}} if applied else {"f:spec": {}}
    record = {"manager": "devctl-operator", "operation": applied or "Apply", "fieldsV1": fields}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "artifacts-scan",
            "namespace": "team",
            "uid": "u3",
            "resourceVersion": "8",
            "labels": identity(job()),
            "managedFields": [record],
            **metadata,
        },
        "spec": {"storageClassName": storage_class, "resources": {"requests": {"storage": size}}},
    }


def decided(
    wanted: Thing,
    pods: Sequence[Thing] = (),
    claims: Sequence[Thing] = (),
    flavors: Sequence[Thing] = (),
    teams: Sequence[Thing] = (),
) -> Values:
    """The values of a run for a job."""
    neighbours = {"claims": list(claims), "flavors": list(flavors), "teams": list(teams)}
    return values(wanted, pods=list(pods), **neighbours)


def names(wanted: Thing, pods: Sequence[Thing] = (), claims: Sequence[Thing] = ()) -> Thing:
    """The names for a job's templates."""
    return dict(decided(wanted, pods, claims).names)
