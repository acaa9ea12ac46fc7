"""Volumes whose time is over, for who does not want to wait for the observer, or has none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from devctl.client.homes import mounts
from devctl.client.jobs.claim import LABELS, Claim
from devctl.client.jobs.job import Job
from devctl.errors import DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.cluster import CONFLICT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devctl.kube.cluster import Cluster


class Why(StrEnum):
    """What is to be done with a volume, and why."""

    DUE = "its time is over"
    GOES_ON = "its job has not ended"
    EARLY = "its time is not over"
    UNKNOWN = "it is not known when its time is over"
    IN_USE = "a pod uses it"


@dataclass(frozen=True)
class Judged:
    """A volume and what is to be done with it.

    Attributes:
        claim: Its claim.
        why: DUE, or why it is kept.
        until: When its time is over.
        pods: Who uses it.
    """

    claim: Claim
    why: Why
    until: datetime | None = None
    pods: tuple[str, ...] = ()


def judge(claim: Claim, job: Job | None, pods: Sequence[str], now: datetime) -> Judged:
    """What is to be done with a volume; all that is not sure keeps it.

    The time is that of the volume, spec.pvcTTLSecondsAfterFinished, and not that of the pod.
    """
    if job and not claim.is_of(job):
        # Another person's, which has the name and not the volume.
        job = None
    if job and not job.finished:
        return Judged(claim, Why.GOES_ON)
    until = job.moment("artifactsExpireAt") if job else claim.expires_at
    if until is None:
        return Judged(claim, Why.UNKNOWN)
    if now < until:
        return Judged(claim, Why.EARLY, until)
    if pods:
        return Judged(claim, Why.IN_USE, until, tuple(pods))
    return Judged(claim, Why.DUE, until)


class Cleanup:
    """Volumes whose time is over."""

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def look(self, namespace: str | None = None) -> list[Judged]:
        """All volumes of jobs in a namespace, or EVERYWHERE, each with what is to be done."""
        now = self._now()
        claims = [
            Claim(found)
            for found in self._cluster.list(resources.PersistentVolumeClaim, namespace, LABELS)
        ]
        # Jobs are read after claims: a job that is new by then keeps its volume.
        kind = resources.EphemeralAccelerationJob
        jobs = [Job(found) for found in self._cluster.list(kind, namespace)]
        by_name = {(job.namespace, job.name): job for job in jobs}
        used = mounts(self._cluster.list(resources.Pod, namespace))
        return [
            judge(
                claim,
                by_name.get((claim.namespace, claim.job)),
                used.get((claim.namespace, claim.name), ()),
                now,
            )
            for claim in sorted(claims, key=lambda claim: (claim.namespace, claim.name))
            if claim.is_of_a_job and not claim.going
        ]

    def delete(self, judged: Judged) -> bool:
        """Delete a volume that is due, if nothing has happened to it since; whether it was."""
        claim = judged.claim
        try:
            kind = resources.EphemeralAccelerationJob
            job = Job(self._cluster.get(kind, claim.job, claim.namespace))
        except NotFoundError:
            job = None
        pods = mounts(self._cluster.list(resources.Pod, claim.namespace))
        users = pods.get((claim.namespace, claim.name), ())
        if judge(claim, job, users, self._now()).why is not Why.DUE:
            return False
        try:
            self._cluster.delete(resources.PersistentVolumeClaim, claim.raw, unchanged=True)
        except NotFoundError:
            return False
        except DevctlError as error:
            if error.reason != CONFLICT:
                raise
            return False
        return True

    def _now(self) -> datetime:
        """The API server's time, or ours if that is earlier: a wrong clock deletes nothing."""
        here = datetime.now(UTC)
        said = self._cluster.read("version").headers.get("date", "")
        try:
            return min(here, parsedate_to_datetime(said).astimezone(UTC))
        except ValueError:
            return here
