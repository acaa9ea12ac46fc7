"""The claim of a job's volume, which outlives the job."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from devctl.api.ephemeral_acceleration_job import (
    FINISHED_AT,
    JOB,
    JOB_UID,
    PVC_TTL_SECONDS,
    RELEASED_AT,
    RELEASED_UID,
    claim_name,
    has_claim,
)
from devctl.api.labels import MANAGED_BY, MANAGER
from devctl.client.objects import Named
from devctl.errors import AlreadyExistsError, NotFoundError
from devctl.kube import resources

if TYPE_CHECKING:
    from devctl.client.jobs.job import Job
    from devctl.kube.cluster import Cluster

LABELS: dict[str, Any] = {MANAGED_BY: MANAGER, JOB: None}
"""What every claim of a job carries."""
_SECONDS = re.compile(r"\d{1,8}", re.ASCII)


@dataclass(frozen=True)
class Claim(Named):
    """A claim at one moment."""

    @property
    def job(self) -> str:
        """The job that it was made for."""
        return str((self.raw["metadata"].get("labels") or {}).get(JOB, ""))

    @property
    def size(self) -> str:
        """How large it is; how large it is to be while it has no volume yet."""
        capacity = (self.raw.get("status") or {}).get("capacity") or {}
        return str(capacity.get("storage") or self.raw["spec"]["resources"]["requests"]["storage"])

    @property
    def bound(self) -> bool:
        """Whether it has its volume."""
        return (self.raw.get("status") or {}).get("phase") == "Bound"

    @property
    def going(self) -> bool:
        """Whether it is being deleted."""
        return "deletionTimestamp" in self.raw["metadata"]

    @property
    def is_of_a_job(self) -> bool:
        """Whether devctl made it for the job whose name it has."""
        labels = self.raw["metadata"].get("labels") or {}
        ours = labels.get(MANAGED_BY) == MANAGER
        return ours and bool(self.job) and self.name == claim_name(self.job)

    def is_of(self, job: Job) -> bool:
        """Whether it is this job's, and not another person's earlier one's of the name."""
        metadata = self.raw["metadata"]
        labels, notes = metadata.get("labels") or {}, metadata.get("annotations") or {}
        return has_claim(job.uid, job.owner, labels, notes)

    @property
    def expires_at(self) -> datetime | None:
        """When it may be deleted once its job is gone; None where that cannot be told.

        What cannot be read never deletes anything.
        """
        notes: dict[str, str] = self.raw["metadata"].get("annotations") or {}
        # Another job of the name has had it since, and nobody has told yet that it is gone, too.
        outdated = notes.get(RELEASED_UID) != notes.get(JOB_UID)
        since = notes.get(FINISHED_AT) or (None if outdated else notes.get(RELEASED_AT))
        seconds = notes.get(PVC_TTL_SECONDS)
        if not since or not seconds or not _SECONDS.fullmatch(seconds):
            return None
        try:
            began = datetime.fromisoformat(since)
        except ValueError:
            return None
        if began.tzinfo is None:
            return None
        return began.astimezone(UTC) + timedelta(seconds=int(seconds))


def find_claim(cluster: Cluster, job: str) -> Claim:
    """The claim of a job's volume, whether the job is still there or not.

    Raises:
        NotFoundError: There is none, or it is being deleted.
        AlreadyExistsError: It is somebody else's.
    """
    name = claim_name(job)
    raw = cluster.find(resources.PersistentVolumeClaim, name)
    if raw is None:
        raise NotFoundError(
            f"job `{job}` has no volume in namespace `{cluster.namespace}`",
            "its time is over, or there never was such a job: see `egpu list`",
        )
    found = Claim(raw)
    if not found.is_of_a_job:
        raise AlreadyExistsError(
            f"volume `{name}` was not made for job `{job}` and is left alone",
            "choose another name for the job",
        )
    if found.going:
        raise NotFoundError(
            f"the volume of job `{job}` is being deleted", "create the job again with `egpu create`"
        )
    return found
