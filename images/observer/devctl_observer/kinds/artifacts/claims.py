"""Claims of jobs: how requests name one, whose it is, and when it goes whose job is gone."""

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
from devctl_observer.judging.pods import claim_names
from devctl_observer.watching.kept import without_history
from devctl_observer.watching.store import Key

_SECONDS = re.compile(r"\d{1,10}", re.ASCII)
BOUND = "Bound"
"""A condition of a claim, for `kubectl wait --for=condition=Bound`."""


# lightkube's own class is typed, and takes no manifest that holds a part of an object only.
_Claim = create_namespaced_resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")


def parse_claim(obj: Mapping[str, Any]) -> PersistentVolumeClaim:
    """A claim from the API's JSON."""
    return without_history(msgspec.convert(obj, PersistentVolumeClaim))


CLAIM = Kind(_Claim, parse_claim)


def is_claim_of(claim: PersistentVolumeClaim, job: Any) -> bool:
    """Whether a claim of a job's name is its own, and not of another person's earlier job."""
    return words.has_claim(job.metadata.uid, job.spec.owner, labels_of(claim), notes_of(claim))


def job_of(claim: PersistentVolumeClaim) -> Key | None:
    """The job that a role has made a claim for; None where it is no such claim."""
    meta, labels = meta_of(claim.metadata), labels_of(claim)
    job = labels.get(words.JOB, "")
    ours = job and labels.get(MANAGED_BY) == MANAGER and meta.name == words.claim_name(job)
    return Key(meta.namespace, job) if ours else None


def claim_key(job: Key) -> Key:
    """What a job's claim is stored under."""
    return Key(job.namespace, words.claim_name(job.name))


def stays(claim: PersistentVolumeClaim) -> bool:
    """Whether nobody has deleted a claim yet."""
    return bool(claim.metadata and not claim.metadata.deletionTimestamp)


def is_released(notes: Mapping[str, str]) -> bool:
    """Whether it is known since when the last job that had a claim is gone.

    One of the same name may have come and gone while nobody looked.
    """
    return words.RELEASED_AT in notes and notes.get(words.RELEASED_UID) == notes.get(words.JOB_UID)


def release(notes: Mapping[str, str], now: datetime) -> dict[str, str]:
    """Our annotations of a claim whose job is gone."""
    of = {words.RELEASED_UID: notes[words.JOB_UID]} if words.JOB_UID in notes else {}
    return {words.RELEASED_AT: to_text(now), **of}


def deadline(notes: Mapping[str, str]) -> datetime | None:
    """When a claim goes whose job is gone; None where that cannot be read, and so never."""
    since = from_text(notes.get(words.FINISHED_AT) or notes.get(words.RELEASED_AT))
    seconds = notes.get(words.PVC_TTL_SECONDS, "")
    if since is None or not _SECONDS.fullmatch(seconds):
        return None
    try:
        return since + timedelta(seconds=int(seconds))
    except OverflowError:
        return None


def users_of(namespace_pods: Iterable[Pod], claim: str) -> list[str]:
    """Pods of a claim's namespace that mount it and have not ended."""
    return sorted(
        meta_of(pod.metadata).name
        for pod in namespace_pods
        if claim in claim_names(pod)
        and not (pod.status and pod.status.phase in {"Succeeded", "Failed"})
    )


def bound_status(claim: PersistentVolumeClaim, now: datetime) -> dict[str, Any] | None:
    """What to write into a claim's status, so that one can wait for it; None where it is there."""
    status = claim.status
    conditions = (status.conditions if status else None) or []
    said = next((entry.status for entry in conditions if entry.type == BOUND), None)
    wanted = "True" if status and status.phase == BOUND else "False"
    if said == wanted or (said is None and wanted == "False"):
        return None
    phase = (status.phase if status else None) or "Pending"
    entry = condition(BOUND, wanted, phase, f"the claim's phase is {phase}")
    return {"conditions": [entry | {"lastTransitionTime": to_text(now)}]}
