"""One run: read existing objects, refuse foreign ones, remove, apply, prune."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apply.errors import ApplyError, FieldConflictError, StaleReadError
from apply.fields import is_settled, leave_to_others
from apply.manifests import ALIAS, CREATE_ONLY, SHARED, Key, Kind, Manifest, is_marked, key_of
from apply.ownership import Owner, is_prunable, refuse_foreign, refuse_going, refuse_unshared
from apply.report import Report
from apply.server.client import Cluster
from apply.values import listed
from devctl.api.applied import Reason
from devctl.api.labels import OWNER_UID

_LOOKS, _LOOK_SECONDS = 10, 0.02
# Other controllers write to these, and the operator treats the first write of each as a change: an
# unnecessary run every time. The observer reports deleted ones instead. watches.yaml blacklists
# kinds of which a cluster may have thousands of foreign ones.
_UNWATCHED = {
    *("PersistentVolumeClaim", "StatefulSet", "Deployment", "Job", "Pod", "ConfigMap"),
    *("PersistentVolume", "Namespace", "RoleBinding", "Role", "ServiceAccount"),
    *("ResourceQuota", "LimitRange", "NetworkPolicy", "WorkloadPriorityClass"),
    "ResourceClaim",
}
# What the operator watches: host, owner's kind, child's kind. A process ends with its operator.
_watched: set[tuple[str, Kind, Kind]] = set()


@dataclass(frozen=True)
class Goal:
    """The desired state.

    Attributes:
        owner: The owner of the objects.
        identity: The labels that mark them as the owner's.
        manifests: The objects, already stamped with owner and labels.
        prune: Kinds whose objects are deleted when they are no longer rendered.
        remove: Objects to delete, as they were read when that was decided.
        update_only: Objects that are skipped if they do not exist.
        first: No run for this owner has completed yet.
        finalized: Like `prune`, for kinds of which the owner may have objects in any namespace.
    """

    owner: Owner
    identity: Mapping[str, str]
    manifests: Mapping[Key, Manifest]
    prune: frozenset[Kind]
    remove: Sequence[Manifest] = ()
    update_only: frozenset[Key] = frozenset()
    first: bool = False
    finalized: frozenset[Kind] = frozenset()


def converge(cluster: Cluster, goal: Goal, report: Report) -> None:
    """Bring the cluster to the desired state; the report is correct even if this raises.

    Raises:
        ApplyError: It is impossible. With reason Conflict over a whole object nothing has been
            written; with reason Terminating nothing has been applied.
    """
    remove = list(goal.remove)
    cluster.retry.while_stale(lambda: _pass(cluster, goal, remove, report))


def _pass(cluster: Cluster, goal: Goal, remove: list[Manifest], report: Report) -> None:
    existing = read(cluster, goal)
    touched = {key: thing for key, thing in existing.items() if key in goal.manifests}
    shared = {key for key in touched if is_marked(goal.manifests[key], SHARED)}
    refuse_unshared((touched[key] for key in shared), goal.owner)
    aliases = {key for key in touched if is_marked(goal.manifests[key], ALIAS)}
    own = (thing for key, thing in touched.items() if key not in shared | aliases)
    refuse_foreign(own, goal.owner, goal.identity)
    # Before terminating objects are refused: a claim may be waiting for exactly the removed pod.
    while remove:
        _remove(cluster, goal, remove[0], report)
        del remove[0]
    refuse_going((thing for key, thing in touched.items() if key not in aliases), goal.owner)
    refused = _apply_all(cluster, goal, existing, report)
    for key, thing in existing.items():
        if (
            key.kind in goal.prune | goal.finalized
            and key not in goal.manifests
            and is_prunable(thing, goal.owner, goal.identity)
        ):
            cluster.delete(thing)
            report.deleted(thing)
    if cluster.proxied:
        have_watched(cluster, goal.owner, goal.manifests)
    if refused:
        raise refused[0]


def _apply_all(
    cluster: Cluster, goal: Goal, existing: Mapping[Key, Manifest], report: Report
) -> list[ApplyError]:
    """Apply the manifests; returns why aliases were refused, each of which concerns nobody else."""
    refused = []
    for key, manifest in goal.manifests.items():
        before = existing.get(key)
        if not before and key in goal.update_only:
            continue
        try:
            if before and is_marked(manifest, ALIAS):
                refuse_foreign([before], goal.owner, goal.identity)
                refuse_going([before], goal.owner)
            report.applied(before, _apply(cluster, manifest, before))
        except ApplyError as error:
            if not is_marked(manifest, ALIAS):
                raise
            refused.append(error)
    return refused


def _remove(cluster: Cluster, goal: Goal, thing: Manifest, report: Report) -> None:
    """Delete an object if it is still as it was when that was decided."""
    name = key_of(thing)
    if not is_prunable(thing, goal.owner, goal.identity):
        raise ApplyError(Reason.CONFLICT, f"{name} is not an object that {goal.owner} may delete")
    try:
        cluster.delete(thing)
    except StaleReadError as error:
        # Not read again here: the decision may depend on what has changed.
        message = f"{name} was not deleted, because it has changed meanwhile: {error}"
        raise ApplyError(Reason.UNAVAILABLE, message) from error
    report.deleted(thing)


def have_watched(cluster: Cluster, owner: Owner, keys: Iterable[Key]) -> None:
    """Make the operator's proxy watch every kind, so that a child's deletion triggers a run.

    It starts watching when it answers a GET (never a LIST) of a child from its cache. That takes a
    millisecond, but a new object reaches the cache a moment later. It watches until the operator
    ends, so a process that does several runs asks once.
    """
    for key in {key.kind: key for key in keys}.values():
        watch = (cluster.host, owner.key.kind, key.kind)
        if key.kind.kind in _UNWATCHED or watch in _watched:
            continue
        for _ in range(_LOOKS):
            if cluster.is_cached(key):
                _watched.add(watch)
                break
            cluster.retry.sleep(_LOOK_SECONDS)


def read(cluster: Cluster, goal: Goal) -> dict[Key, Manifest]:
    """The existing objects that are rendered, or may have to be deleted.

    One LIST returns all objects of a kind that have the identity. Missing names are requested by
    GET, because an object without the identity may have them. A kind with one name and nothing to
    prune needs only the GET. So does a first run if none of the names exists: an interrupted run
    would have applied the first of them first. A shared object has no identity.
    """
    own = (key for key, thing in goal.manifests.items() if not is_marked(thing, SHARED))
    rendered = Counter(key.kind for key in own)
    existing: dict[Key, Manifest] = {}
    if goal.first and not goal.finalized and not (existing := _named(cluster, goal.manifests)):
        return existing
    for kind in sorted(goal.finalized):
        labels = {**goal.identity, OWNER_UID: goal.owner.uid}
        existing |= {key_of(thing): thing for thing in cluster.list(kind, labels, everywhere=True)}
    for kind in [*rendered, *sorted(goal.prune - rendered.keys())]:
        if kind in goal.prune or rendered[kind] > 1:
            # Nothing looks again for an object that a late copy lacks: it would never be pruned.
            found = listed(cluster, kind, goal.identity, cached=kind not in goal.prune)
            existing |= {key_of(thing): thing for thing in found}
    return existing | _named(cluster, (key for key in goal.manifests if key not in existing))


def _named(cluster: Cluster, keys: Iterable[Key]) -> dict[Key, Manifest]:
    return {key: thing for key in keys if (thing := cluster.get(key))}


def _apply(cluster: Cluster, manifest: Manifest, before: Manifest | None) -> Manifest:
    if before is None:
        return cluster.make(manifest)
    manifest = leave_to_others(manifest, before, cluster.field_manager)
    if is_marked(manifest, CREATE_ONLY) or is_settled(manifest, before, cluster.field_manager):
        return before
    # With the UID, the server refuses if the object has been recreated.
    identified: dict[str, Any] = manifest["metadata"] | {"uid": before["metadata"]["uid"]}
    manifest = manifest | {"metadata": identified}
    try:
        return cluster.apply(manifest)
    except FieldConflictError as conflict:
        # Fields of our own name under another operation, from an earlier release, are migrated.
        if conflict.managers != {cluster.field_manager}:
            raise
        return cluster.apply(manifest, force=True)
