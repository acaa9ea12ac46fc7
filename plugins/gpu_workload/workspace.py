"""The folder in which a workload's program starts: its claim, its archive, its mounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apply.errors import ApplyError
from apply.manifests import CREATE_ONLY

from devctl.api.applied import Reason
from devctl.api.gpu_workload import ARCHIVE, OWNER, OWNER_NAME, Phase, claim_name
from devctl.api.labels import owner_digest

_NAME, _ARCHIVE = "workspace", "archive"
_MOUNTED = "/archive"
"""Where the archive is mounted while it is unpacked."""
_UNPACK = 'exec tar -xzf "$0" -C "$1"'
_ENDED = {Phase.SUCCEEDED, Phase.FAILED}


def claim_values(
    workload: Mapping[str, Any], claim: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The values for the claim's template; None if none is to be created.

    Once an attempt has begun, a lost claim is not recreated: an empty volume would pass for the
    workload's.

    Args:
        workload: The GPUWorkload.
        claim: The existing claim, perhaps of an earlier workload; None if there is none.

    Raises:
        ApplyError: With reason Conflict, if the existing claim has another user's files.
    """
    spec, name = workload["spec"], str(workload["metadata"]["name"])
    wanted = spec.get("workspace") or {}
    if "size" not in wanted or _is_begun(workload.get("status", {})):
        return None
    owner = str(spec.get("owner", ""))
    labels = {OWNER: owner_digest(owner)} if owner else {}
    if claim:
        _refuse_anothers(labels, claim)
    return {
        "name": claim_name(name),
        "labels": labels,
        # An earlier workload's volume is used as it is.
        "annotations": {CREATE_ONLY: "true"} | ({OWNER_NAME: owner} if owner else {}),
        "size": str(wanted["size"]),
        "storage_class": wanted.get("storageClassName"),
    }


def _is_begun(status: Mapping[str, Any]) -> bool:
    """Whether the pod of an attempt may have used the claim."""
    later = int(status.get("attempt") or 0) > 1
    return later or bool(status.get("jobName")) or status.get("phase") in _ENDED


def _refuse_anothers(own: Mapping[str, str], claim: Mapping[str, Any]) -> None:
    metadata = claim["metadata"]
    if (metadata.get("labels") or {}).get(OWNER, "") == own.get(OWNER, ""):
        return
    owner = (metadata.get("annotations") or {}).get(OWNER_NAME)
    whose = f"of `{owner}`" if owner else "of an unknown owner"
    message = (
        f"claim `{metadata['name']}` has the files of an earlier workload {whose}; choose another"
        f" name, or have its owner or an administrator delete it"
    )
    raise ApplyError(Reason.CONFLICT, message)


def mounts(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where the program finds it."""
    wanted = spec.get("workspace")
    return [{"name": _NAME, "mountPath": wanted["mountPath"]}] if wanted else []


def volumes(name: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pod's volumes for it."""
    wanted = spec.get("workspace")
    if not wanted:
        return []
    kept = {"persistentVolumeClaim": {"claimName": claim_name(name)}}
    archive = [
        {"name": _ARCHIVE, "configMap": {"name": given}}
        for given in [wanted.get("configMapName")]
        if given
    ]
    return [{"name": _NAME, **(kept if "size" in wanted else {"emptyDir": {}})}, *archive]


def unpacking(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """The command and mounts of the container that unpacks the archive; None without one."""
    wanted = spec.get("workspace") or {}
    if not wanted.get("configMapName"):
        return None
    where = [{"name": _ARCHIVE, "mountPath": _MOUNTED, "readOnly": True}]
    return {
        "command": ["sh", "-c", _UNPACK, f"{_MOUNTED}/{ARCHIVE}", wanted["mountPath"]],
        "mounts": [*mounts(spec), *where],
    }
