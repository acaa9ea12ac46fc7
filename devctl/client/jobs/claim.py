"""The claims of jobs' volumes: whose they are, when they expire, and deleting expired ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from devctl.api import ephemeral_acceleration_job as words
from devctl.api.labels import MANAGED_BY, MANAGER
from devctl.client.homes import Volume, mounts, users
from devctl.client.jobs.job import Job, check_name
from devctl.client.objects import Collection, Field, mapping, moment, text
from devctl.errors import AlreadyExistsError, DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.cluster import CONFLICT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.kube.cluster import Cluster

LABELS: dict[str, Any] = {MANAGED_BY: MANAGER, words.JOB: None}
"""Selects the claims of jobs."""
_SECONDS = re.compile(r"\d{1,8}", re.ASCII)


@dataclass(frozen=True)
class Claim(Volume):
    """The claim of a job's volume at one moment."""

    job = Field(text, "metadata", "labels", words.JOB)
    """The job that it was created for."""
    bound = Field(lambda value: value == "Bound", "status", "phase")
    """Whether it is bound to a volume."""
    _notes = Field(mapping, "metadata", "annotations")

    @property
    def is_of_a_job(self) -> bool:
        """Whether devctl created it for the job in its name."""
        ours = self.labels.get(MANAGED_BY) == MANAGER
        return ours and bool(self.job) and self.name == words.claim_name(self.job)

    def is_of(self, job: Job) -> bool:
        """Whether it is this job's, and not that of another person's earlier job of that name."""
        return words.has_claim(job.uid, job.owner, self.labels, self._notes)

    @property
    def expires_at(self) -> datetime | None:
        """When it may be deleted after its job is gone; None if that cannot be determined.

        Nothing is deleted because of an annotation that cannot be parsed.
        """
        notes = self._notes
        # The release is stale once another job of that name has used the volume.
        stale = notes.get(words.RELEASED_UID) != notes.get(words.JOB_UID)
        released = None if stale else notes.get(words.RELEASED_AT)
        since = moment(notes.get(words.FINISHED_AT) or released)
        seconds = notes.get(words.PVC_TTL_SECONDS, "")
        if since is None or not _SECONDS.fullmatch(seconds):
            return None
        return since.astimezone(UTC) + timedelta(seconds=int(seconds))


def find_claim(cluster: Cluster, job: str) -> Claim:
    """The claim of a job's volume, whether or not the job still exists.

    Raises:
        UsageError: The job's name is invalid.
        NotFoundError: The claim does not exist, or is being deleted.
        AlreadyExistsError: Something else has its name.
    """
    check_name(job)
    name = words.claim_name(job)
    raw = cluster.find(resources.PersistentVolumeClaim, name)
    if raw is None:
        raise NotFoundError(
            f"job `{job}` has no volume in namespace `{cluster.namespace}`",
            "it has expired, or there never was such a job: see `egpu list`",
        )
    found = Claim(raw)
    if not found.is_of_a_job:
        raise AlreadyExistsError(
            f"volume `{name}` was not made for job `{job}` and is left alone", "choose another name"
        )
    if found.going:
        raise NotFoundError(
            f"the volume of job `{job}` is being deleted", "create the job again with `egpu create`"
        )
    return found


class Why(StrEnum):
    """Why a volume is deleted or kept."""

    DUE = "it has expired"
    ACTIVE = "its job has not ended"
    EARLY = "it has not expired"
    UNKNOWN = "its expiry is unknown"
    IN_USE = "a pod uses it"


@dataclass(frozen=True)
class Judged:
    """The decision about a volume: why, until when it is kept, and which pods use it."""

    claim: Claim
    why: Why
    until: datetime | None = None
    pods: tuple[str, ...] = ()


def judge(claim: Claim, job: Job | None, pods: Sequence[str], now: datetime) -> Judged:
    """Decide about a volume; it is kept if anything is in doubt.

    What counts is the volume's own retention, spec.pvcTTLSecondsAfterFinished, not the pod's.
    """
    if job and not claim.is_of(job):
        # Another person's job, which has the name but not the volume.
        job = None
    if job and not job.finished:
        return Judged(claim, Why.ACTIVE)
    until = job.moment("artifactsExpireAt") if job else claim.expires_at
    if until is None:
        return Judged(claim, Why.UNKNOWN)
    if now < until:
        return Judged(claim, Why.EARLY, until)
    return Judged(claim, Why.IN_USE if pods else Why.DUE, until, tuple(pods))


class Cleanup(Collection):
    """Deletes expired volumes without waiting for the observer."""

    def look(self, namespace: str | None = None) -> list[Judged]:
        """The decision about each volume of a job in a namespace, or EVERYWHERE."""
        now = self._now()
        raw = self._cluster.list(resources.PersistentVolumeClaim, namespace, LABELS)
        claims = sorted(map(Claim, raw), key=lambda claim: (claim.namespace, claim.name))
        # Jobs are read after claims, so that a job created meanwhile keeps its volume.
        jobs = map(Job, self._cluster.list(resources.EphemeralAccelerationJob, namespace))
        by_name = {(job.namespace, job.name): job for job in jobs}
        used = mounts(self._cluster.list(resources.Pod, namespace))
        return [
            judge(
                claim,
                by_name.get((claim.namespace, claim.job)),
                used.get((claim.namespace, claim.name), ()),
                now,
            )
            for claim in claims
            if claim.is_of_a_job and not claim.going
        ]

    def delete(self, judged: Judged) -> bool:
        """Delete an expired volume unless anything has changed since; return whether it was."""
        claim = judged.claim
        raw = self._cluster.find(resources.EphemeralAccelerationJob, claim.job, claim.namespace)
        pods = users(self._cluster, claim)
        if judge(claim, Job(raw) if raw else None, pods, self._now()).why is not Why.DUE:
            return False
        try:
            self._cluster.delete(resources.PersistentVolumeClaim, claim.raw, unchanged=True)
        except DevctlError as error:
            if error.reason != CONFLICT and not isinstance(error, NotFoundError):
                raise
            return False
        return True

    def _now(self) -> datetime:
        """The API server's time or ours, whichever is earlier: a wrong clock deletes nothing."""
        here = datetime.now(UTC)
        said = self._cluster.read("version").headers.get("date", "")
        try:
            return min(here, parsedate_to_datetime(said).astimezone(UTC))
        except ValueError:
            return here
