"""The claim of a job's volume, which outlives the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apply.errors import ApplyError

from devctl.api import ephemeral_acceleration_job as words
from devctl.api.applied import Reason
from devctl.api.labels import owner_digest
from devctl.api.quantities import larger
from ephemeral_acceleration_job.state import is_begun, is_finished, is_going, is_true


def is_rendered(
    job: Mapping[str, Any], pod: Mapping[str, Any] | None, claim: Mapping[str, Any] | None
) -> bool:
    """Whether this run has a claim to apply.

    A claim that a job has written to is kept up to date but not recreated if it is lost: an empty
    volume would pass for the job's. If a claim is terminating before its job has started, it is
    applied nevertheless. That fails while the claim exists, so the run is retried until it is gone.
    """
    if not is_begun(job, pod):
        return True
    expired = is_finished(job) and is_true(job, words.Condition.ARTIFACTS_EXPIRED)
    return claim is not None and not is_going(claim) and not expired


def refuse_anothers(job: Mapping[str, Any], claim: Mapping[str, Any]) -> None:
    """Stop a run before it gives a job another user's files.

    Raises:
        ApplyError: With reason Conflict.
    """
    metadata, name = job["metadata"], job["metadata"]["name"]
    annotations = claim["metadata"].get("annotations") or {}
    labels = claim["metadata"].get("labels") or {}
    if words.has_claim(metadata["uid"], job["spec"].get("owner", ""), labels, annotations):
        return
    owner = annotations.get(words.OWNER_NAME)
    whose = f"of `{owner}`" if owner else "of an unknown owner"
    who = f"have `{owner}` or an administrator delete it" if owner else "delete it"
    advice = f"choose another name for the job, or {who}: `egpu delete {name} --delete-pvc`"
    message = f"claim `{words.claim_name(name)}` has the files of an earlier job {whose}; {advice}"
    raise ApplyError(Reason.CONFLICT, message)


def claim_values(job: Mapping[str, Any], claim: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values for the claim's template.

    Args:
        job: The job.
        claim: The existing claim, perhaps from an earlier job; None if there is none.
    """
    spec, status = job["spec"], job.get("status", {})
    annotations = {
        words.JOB_UID: str(job["metadata"]["uid"]),
        words.PVC_TTL_SECONDS: str(spec["pvcTTLSecondsAfterFinished"]),
    }
    if status.get("finishedAt"):
        annotations[words.FINISHED_AT] = str(status["finishedAt"])
    labels = {}
    # A job from a release without owners has none, and neither has its claim.
    if owner := spec.get("owner"):
        labels[words.OWNER] = owner_digest(str(owner))
        annotations[words.OWNER_NAME] = str(owner)
    there = claim["spec"]["resources"]["requests"]["storage"] if claim else None
    return {
        "name": words.claim_name(job["metadata"]["name"]),
        "labels": labels,
        "annotations": annotations,
        "size": larger(there, str(spec["pvcSize"])),
        "storage_class": spec.get("storageClass") if claim is None else _applied_class(claim),
    }


def _applied_class(claim: Mapping[str, Any]) -> str | None:
    """The claim's class if it was applied, because omitting it would then remove it.

    A class never changes. One that the API server has defaulted remains the server's: applying it,
    too, would be a write in the second run of every job.
    """
    for entry in claim["metadata"].get("managedFields") or []:
        fields = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        if entry.get("operation") == "Apply" and "f:storageClassName" in fields:
            return str(claim["spec"].get("storageClassName", ""))
    return None
