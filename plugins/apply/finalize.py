"""Deletes a terminating owner's objects in other namespaces before the owner itself."""

from __future__ import annotations

from collections.abc import Iterable

from apply.errors import ApplyError, NotFoundError
from apply.manifests import Kind, Manifest, key_of
from apply.ownership import Owner
from apply.report import Report
from apply.server.client import Cluster
from devctl.api.applied import Reason
from devctl.api.labels import OWNER_UID
from devctl.api.messages import listed


def finalize(cluster: Cluster, owner: Owner, kinds: Iterable[Kind], report: Report) -> None:
    """Delete what carries the owner's UID, in every namespace; then the owner may be deleted.

    The identity labels are not required: someone may have removed them, and nothing else would
    ever delete the object. Deleting in a namespace that is terminating is harmless.

    Raises:
        ApplyError: With reason Terminating if objects are still terminating: their finalizers may
            take long, so this does not wait. Otherwise as the client says.
    """
    kinds = sorted(kinds)
    for kind in kinds:
        cluster.retry.while_stale(lambda kind=kind: _delete(cluster, owner, kind, report))  # type: ignore[misc]
    left = [str(key_of(thing)) for kind in kinds for thing in _there(cluster, owner, kind)]
    if left:
        named = listed(sorted(left), 3)
        raise ApplyError(Reason.TERMINATING, f"{owner} waits for the deletion of {named}")


def _delete(cluster: Cluster, owner: Owner, kind: Kind, report: Report) -> None:
    for thing in _there(cluster, owner, kind):
        if not thing["metadata"].get("deletionTimestamp"):
            cluster.delete(thing)
            report.deleted(thing)


def _there(cluster: Cluster, owner: Owner, kind: Kind) -> list[Manifest]:
    """The existing objects, uncached: a cache may lack those created just before the deletion."""
    try:
        return cluster.list(kind, {OWNER_UID: owner.uid}, everywhere=True, cached=False)
    except NotFoundError:
        # The kind itself is gone, and its objects with it.
        return []
