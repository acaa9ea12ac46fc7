"""What an owner that is being deleted has in other namespaces goes before it does."""

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
    """Delete what carries the owner's UID, in every namespace; the owner may go when this returns.

    Its identity is not asked for: somebody may have taken those labels off, and nothing else would
    ever remove the object. A namespace that is going itself takes no harm from it.

    Raises:
        ApplyError: With reason Terminating where something is still going: a finalizer of its own
            may take its time, so this does not wait for it. Otherwise as the client says.
    """
    kinds = sorted(kinds)
    for kind in kinds:
        cluster.retry.while_stale(lambda kind=kind: _delete(cluster, owner, kind, report))  # type: ignore[misc]
    left = [str(key_of(thing)) for kind in kinds for thing in _there(cluster, owner, kind)]
    if left:
        named = listed(sorted(left), 3)
        raise ApplyError(Reason.TERMINATING, f"{owner} goes when these are gone: {named}")


def _delete(cluster: Cluster, owner: Owner, kind: Kind, report: Report) -> None:
    for thing in _there(cluster, owner, kind):
        if not thing["metadata"].get("deletionTimestamp"):
            cluster.delete(thing)
            report.deleted(thing)


def _there(cluster: Cluster, owner: Owner, kind: Kind) -> list[Manifest]:
    """What there is now: a cache may lack what was made just before the deletion."""
    try:
        return cluster.list(kind, {OWNER_UID: owner.uid}, everywhere=True, cached=False)
    except NotFoundError:
        # The kind itself has gone, and its objects with it.
        return []
