"""Kueue's Workloads: what waits in a queue and for what, and what was preempted."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
from lightkube.core.resource import ApiInfo, NamespacedResourceG, ResourceDef

from devctl.api import workloads
from devctl_observer.watching.store import Key

_FOR_JOB = re.compile(r"\bJobUID: ([-0-9a-f]{36})")


def _preemptor(said: str) -> str:
    """The UID of the Job for which another one made room; Kueue says it nowhere else."""
    found = _FOR_JOB.search(said)
    return found[1] if found else ""


class _Owner(msgspec.Struct, frozen=True):
    kind: str
    name: str
    uid: str = ""


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str
    resourceVersion: str = msgspec.field(name="resourceVersion")  # noqa: N815 - the library's name
    uid: str = ""
    owner_references: list[_Owner] = []


class _Condition(msgspec.Struct, rename="camel", frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""


class _Spec(msgspec.Struct, rename="camel", frozen=True):
    queue_name: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition] = []


class Workload(NamespacedResourceG, msgspec.Struct):
    """The decoded part of a Workload: its pod templates are large and not used."""

    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()
    _api_info = ApiInfo(
        ResourceDef("kueue.x-k8s.io", "v1beta2", "Workload"),
        "workloads",
        ["global_list", "global_watch", "list"],
    )


class Owner(NamedTuple):
    """What a Workload queues: a StatefulSet, a Job, or a pod that has neither."""

    kind: str
    key: Key


class Queued(NamedTuple):
    """What is stored of a Workload."""

    owner: Owner
    """Without a name if it is of another kind."""
    uid: str
    """The owner's."""
    queue: str
    """The LocalQueue."""
    waits: str = ""
    """Why it has no quota yet, in Kueue's words; empty if it has."""
    preempted: str = ""
    """Why its quota was given to something else; empty if it was not, or if it has quota again."""
    preempted_at: str = ""
    """When that was, as Kueue wrote it."""
    preempted_by: str = ""
    """The UID of the Job for which it was, if it was for one."""


def queued(found: Workload) -> Queued:
    """What is stored of a Workload."""
    meta = found.metadata
    # The pods of a StatefulSet may be owners, too.
    owners = {owner.kind: owner for owner in reversed(meta.owner_references)}
    kinds = ("StatefulSet", "Job", "Pod")
    first = next((owners[kind] for kind in kinds if kind in owners), _Owner("", ""))
    whose = Owner(first.kind, Key(meta.namespace, first.name)), first.uid
    said = {condition.type: condition for condition in found.status.conditions}
    reserved, evicted = said.get(workloads.QUOTA_RESERVED), said.get(workloads.EVICTED)
    short = reserved and reserved.status != "True" and reserved.reason != workloads.ON_HOLD
    waits = reserved.message if reserved and short else ""
    # Kueue takes the quota back once the pods are gone, and resets this when it gives some again.
    if not evicted or (evicted.status, evicted.reason) != ("True", workloads.PREEMPTED):
        return Queued(*whose, found.spec.queue_name, waits)
    cause = said.get(workloads.PREEMPTED)
    reason = cause.reason if cause else workloads.IN_QUEUE
    given = (reason, evicted.last_transition_time, _preemptor(cause.message if cause else ""))
    return Queued(*whose, found.spec.queue_name, waits, *given)
