"""The only condition that a role writes: whether everything that it rendered is applied."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from apply.errors import ApplyError, NotFoundError, StaleReadError
from apply.manifests import key_of
from apply.server.client import Cluster
from devctl.api.conditions import find

# The message of a condition may have 32 KiB.
_LONGEST = 4096


def status_manifest(
    owner: Mapping[str, Any], kind: str, error: ApplyError | None
) -> dict[str, Any] | None:
    """The status to apply to the owner; None if the condition is already up to date.

    Args:
        owner: The custom resource, as it was when the run began.
        kind: The condition's type.
        error: Why the run failed; None if it succeeded.
    """
    metadata = owner["metadata"]
    before = find(owner.get("status", {}), kind)
    wanted = {
        "type": kind,
        "status": "False" if error else "True",
        "observedGeneration": metadata["generation"],
        "reason": str(error.reason) if error else "Applied",
        "message": str(error)[:_LONGEST] if error else "everything is applied",
    }
    since = before.get("lastTransitionTime")
    if since and wanted.items() <= before.items():
        return None
    if not since or before.get("status") != wanted["status"]:
        since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        # The UID, because the object may have been recreated under the same name.
        "metadata": {
            name: metadata[name] for name in ("name", "namespace", "uid") if name in metadata
        },
        "status": {"conditions": [wanted | {"lastTransitionTime": since}]},
    }


def tell(cluster: Cluster, owner: Mapping[str, Any], kind: str, error: ApplyError | None) -> None:
    """Write the condition unless it is up to date, or the owner is gone.

    Raises:
        ApplyError: The server refused it, or cannot be reached.
    """
    status = status_manifest(owner, kind, error)
    if status is None:
        return
    cluster.retry.while_stale(lambda: _write(cluster, status))


def _write(cluster: Cluster, status: dict[str, Any]) -> None:
    try:
        cluster.apply_status(status, f"{cluster.field_manager}-status")
    except NotFoundError:
        return
    except StaleReadError:
        # There was a concurrent write, or the object has been recreated.
        there = cluster.get(key_of(status))
        if there is not None and there["metadata"]["uid"] == status["metadata"]["uid"]:
            raise
