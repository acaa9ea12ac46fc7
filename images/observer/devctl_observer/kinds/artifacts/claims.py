"""Claims of jobs: their kind and owners, and when a claim without a job is deleted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod

from devctl.api import ephemeral_acceleration_job as words
from devctl.api.labels import MANAGED_BY, MANAGER
from devctl_observer.control.kind import Kind
from devctl_observer.judging.clocks import from_text, to_text
from devctl_observer.judging.conditions import condition
from devctl_observer.judging.model import labels_of, meta_of, notes_of
from devctl_observer.judging.pods import claim_names, has_ended
from devctl_observer.watching.kept import without_history
from devctl_observer.watching.store import Key

_SECONDS = re.compile(r"\d{1,10}", re.ASCII)
BOUND = "Bound"
"""The condition of a claim for `kubectl wait --for=condition=Bound`."""


# lightkube's own class is typed, and does not accept partial manifests.
_Claim = create_namespaced_resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")


def parse_claim(obj: Mapping[str, Any]) -> PersistentVolumeClaim:
    """A claim from the API's JSON."""
    return without_history(msgspec.convert(obj, PersistentVolumeClaim))


CLAIM = Kind(_Claim, parse_claim)


def is_claim_of(claim: PersistentVolumeClaim, job: Any) -> bool:
    """Whether the claim with a job's name is that job's, not another owner's earlier one."""
    return words.has_claim(job.metadata.uid, job.spec.owner, labels_of(claim), notes_of(claim))


def job_of(claim: PersistentVolumeClaim) -> Key | None:
    """The job that a role created a claim for; None for any other claim."""
    meta, labels = meta_of(claim.metadata), labels_of(claim)
    job = labels.get(words.JOB, "")
    ours = job and labels.get(MANAGED_BY) == MANAGER and meta.name == words.claim_name(job)
    return Key(meta.namespace, job) if ours else None


def claim_key(job: Key) -> Key:
    """The key of a job's claim."""
    return Key(job.namespace, words.claim_name(job.name))


def stays(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim is not being deleted."""
    return bool(claim.metadata and not claim.metadata.deletionTimestamp)


def is_released(notes: Mapping[str, str]) -> bool:
    """Whether the annotations say since when the claim's last job is gone.

    Another job of the same name may have come and gone unobserved.
    """
    return words.RELEASED_AT in notes and notes.get(words.RELEASED_UID) == notes.get(words.JOB_UID)


def release(notes: Mapping[str, str], now: datetime) -> dict[str, str]:
    """Our annotations on a claim whose job is gone."""
    of = {words.RELEASED_UID: notes[words.JOB_UID]} if words.JOB_UID in notes else {}
    return {words.RELEASED_AT: to_text(now), **of}


def deadline(notes: Mapping[str, str]) -> datetime | None:
    """When to delete a claim whose job is gone; None (never) if the annotations are invalid."""
    since = from_text(notes.get(words.FINISHED_AT) or notes.get(words.RELEASED_AT))
    seconds = notes.get(words.PVC_TTL_SECONDS, "")
    if since is None or not _SECONDS.fullmatch(seconds):
        return None
    try:
        return since + timedelta(seconds=int(seconds))
    except OverflowError:
        return None


def users_of(namespace_pods: Iterable[Pod], claim: str) -> list[str]:
    """The pods in a claim's namespace that mount it and have not ended."""
    return sorted(
        meta_of(pod.metadata).name
        for pod in namespace_pods
        if claim in claim_names(pod) and not has_ended(pod)
    )


def bound_status(claim: PersistentVolumeClaim, now: datetime) -> dict[str, Any] | None:
    """The status to apply to a claim for its condition Bound; None if it is up to date."""
    status = claim.status
    conditions = (status.conditions if status else None) or []
    said = next((entry.status for entry in conditions if entry.type == BOUND), None)
    wanted = "True" if status and status.phase == BOUND else "False"
    if said == wanted or (said is None and wanted == "False"):
        return None
    phase = (status.phase if status else None) or "Pending"
    entry = condition(BOUND, wanted, phase, f"the claim's phase is {phase}")
    return {"conditions": [entry | {"lastTransitionTime": to_text(now)}]}
