"""One run: read the neighbours, refuse what is foreign, remove, apply, prune."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apply.errors import ApplyError, FieldConflictError, StaleReadError
from apply.fields import is_settled, leave_to_others
from apply.manifests import CREATE_ONLY, SHARED, Key, Kind, Manifest, is_marked, key_of
from apply.ownership import Owner, is_prunable, refuse_foreign, refuse_going, refuse_unshared
from apply.report import Report
from apply.server.client import Cluster
from devctl.api.applied import Reason
from devctl.api.labels import OWNER_UID

_LOOKS, _LOOK_SECONDS = 10, 0.02
# Other controllers write into these, and the operator takes what one writes first for a change that
# the role is to answer: a run for nothing, for each. That one is gone, the observer tells. Of
# ConfigMaps a cluster may have thousands of others': watches.yaml blacklists them.
_UNWATCHED = {"PersistentVolumeClaim", "StatefulSet", "Deployment", "Job", "Pod", "ConfigMap"}
# Where, for whose owners and what the operator is known to watch. A process ends with its operator.
_watched: set[tuple[str, Kind, Kind]] = set()


@dataclass(frozen=True)
class Goal:
    """What the cluster is to hold.

    Attributes:
        owner: Whose objects they are.
        identity: The labels that say so.
        manifests: The objects, already stamped with owner and labels.
        prune: Kinds of which what is no longer rendered goes.
        remove: Objects that are to go, as they were read when that was decided.
        update_only: What is left out where it does not exist.
        first: No run for this owner has come to its end yet.
        finalized: Kinds of which it may have objects in any namespace; what is no longer rendered
            goes, too.
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
    """Make the cluster hold the goal; the report is right even if this raises.

    Raises:
        ApplyError: What stands in the way. With reason Conflict over a whole object nothing has
            been written; with reason Terminating nothing has been applied.
    """
    remove = list(goal.remove)
    cluster.retry.while_stale(lambda: _pass(cluster, goal, remove, report))


def _pass(cluster: Cluster, goal: Goal, remove: list[Manifest], report: Report) -> None:
    existing = read(cluster, goal)
    touched = {key: thing for key, thing in existing.items() if key in goal.manifests}
    shared = {key for key in touched if is_marked(goal.manifests[key], SHARED)}
    refuse_unshared((touched[key] for key in shared), goal.owner)
    own = (thing for key, thing in touched.items() if key not in shared)
    refuse_foreign(own, goal.owner, goal.identity)
    # Before what is going is refused: a claim may be waiting for the very pod that is removed.
    while remove:
        _remove(cluster, goal, remove[0], report)
        del remove[0]
    refuse_going(touched.values(), goal.owner)
    for key, manifest in goal.manifests.items():
        before = existing.get(key)
        if before or key not in goal.update_only:
            report.applied(before, _apply(cluster, manifest, before))
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


def _remove(cluster: Cluster, goal: Goal, thing: Manifest, report: Report) -> None:
    """Delete an object exactly as it was when that was decided."""
    name = key_of(thing)
    if not is_prunable(thing, goal.owner, goal.identity):
        raise ApplyError(Reason.CONFLICT, f"{name} is not {goal.owner}'s to remove")
    try:
        cluster.delete(thing)
    except StaleReadError as error:
        # Not read again here: what has changed may be what it was decided by.
        message = f"{name} was to be removed and has changed meanwhile; it is left: {error}"
        raise ApplyError(Reason.UNAVAILABLE, message) from error
    report.deleted(thing)


def have_watched(cluster: Cluster, owner: Owner, keys: Iterable[Key]) -> None:
    """Make the operator's proxy watch every kind, so that a child's deletion starts a run.

    It begins to when it answers a GET, never a LIST, of a child from its cache: a millisecond, but
    what was made just now takes a moment to get there. It goes on for as long as the operator
    lives, so a process that does several runs asks once.
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
    """What exists of what is rendered, and of what may have to go.

    One LIST finds all of a kind that carries the identity. Names that it lacks are asked for,
    since an object without the identity may hold them. A kind with one name and nothing to prune
    needs only the latter. So does a first run that finds none of the names: what a run that was
    killed has left begins with what it applied first.
    """
    rendered = Counter(key.kind for key in goal.manifests)
    existing: dict[Key, Manifest] = {}
    if goal.first and not goal.finalized and not (existing := _named(cluster, goal.manifests)):
        return existing
    for kind in sorted(goal.finalized):
        labels = {**goal.identity, OWNER_UID: goal.owner.uid}
        existing |= {key_of(thing): thing for thing in cluster.list(kind, labels, everywhere=True)}
    for kind in [*rendered, *sorted(goal.prune - rendered.keys())]:
        if kind in goal.prune or rendered[kind] > 1:
            existing |= {key_of(thing): thing for thing in cluster.list(kind, goal.identity)}
    return existing | _named(cluster, (key for key in goal.manifests if key not in existing))


def _named(cluster: Cluster, keys: Iterable[Key]) -> dict[Key, Manifest]:
    return {key: thing for key in keys if (thing := cluster.get(key))}


def _apply(cluster: Cluster, manifest: Manifest, before: Manifest | None) -> Manifest:
    if before is None:
        return cluster.make(manifest)
    manifest = leave_to_others(manifest, before, cluster.field_manager)
    if is_marked(manifest, CREATE_ONLY) or is_settled(manifest, before, cluster.field_manager):
        return before
    # The server refuses if the object of that name is another one by now.
    identified: dict[str, Any] = manifest["metadata"] | {"uid": before["metadata"]["uid"]}
    manifest = manifest | {"metadata": identified}
    try:
        return cluster.apply(manifest)
    except FieldConflictError as conflict:
        # Our own name under another operation, as an earlier release may have left it, may move.
        if conflict.managers != {cluster.field_manager}:
            raise
        return cluster.apply(manifest, force=True)
