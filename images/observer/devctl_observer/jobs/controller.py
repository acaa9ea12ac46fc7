"""What is done about one job: derive its status, write it if it differs, and keep its times."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from lightkube import ApiError
from lightkube.resources.core_v1 import Node, Pod

from devctl_observer.applied import failure
from devctl_observer.conditions import own_part
from devctl_observer.flavor_fit import node_facts
from devctl_observer.jobs.caches import with_pod
from devctl_observer.jobs.deadlines import next_look
from devctl_observer.jobs.foreign import find_foreign
from devctl_observer.jobs.kinds import JOB
from devctl_observer.jobs.missing import missing
from devctl_observer.jobs.model import parse_job
from devctl_observer.jobs.observed import Clocks
from devctl_observer.jobs.status import OWN, job_status, judge, volume_is_due, wants_proof
from devctl_observer.jobs.transitions import transitions
from devctl_observer.jobs.wake import wake_value
from devctl_observer.kinds import small_pod
from devctl_observer.losses import GRACE, Losses
from devctl_observer.timestamps import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from devctl_observer.cluster_api import ClusterApi
    from devctl_observer.jobs.caches import JobCaches
    from devctl_observer.jobs.model import Job
    from devctl_observer.jobs.observed import Observed
    from devctl_observer.jobs.removal import Remover
    from devctl_observer.store import Key

log = logging.getLogger(__name__)

IN_USE = 15.0
"""Seconds until a name or a volume that somebody else has in use is looked at again."""
DOUBT = 5.0
"""Seconds until something is looked at again that should have happened by now."""


class JobController:
    """Handler of the work queue of jobs.

    Args:
        caches: What was observed.
        api: What can be changed.
        remover: Deletes claims.
        clock: What time it is.
        steady: Seconds that pass, from whenever.
    """

    def __init__(
        self,
        caches: JobCaches,
        api: ClusterApi,
        remover: Remover,
        *,
        clock: Callable[[], datetime] = utc_now,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """Count from zero."""
        self._caches, self._api, self._remover = caches, api, remover
        self._clock, self._losses = clock, Losses(steady)
        self._foreign: dict[Key, str] = {}
        self.writes = self.looks = self.wakes = 0

    async def job(self, key: Key) -> float | None:
        """Bring a job's status up to date; returns the seconds until time changes it."""
        job = self._caches.jobs.get(key)
        if job is None:
            self._losses.forget(key)
            self._foreign.pop(key, None)
            return None
        self.looks += 1
        try:
            return await self._look(key, job)
        except ApiError as error:
            # It is gone, or another one has its name: the watch is about to say so.
            if error.status.code in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                return None
            raise

    async def _look(self, key: Key, job: Job) -> float | None:
        seen, clocks = self._caches.observe(key, job), Clocks(self._clock())
        users: list[str] = []
        doubtful = wants_proof(seen, clocks)
        if doubtful:
            proven = await self._prove(key, seen)
            if proven is None:
                return None
            seen, clocks = proven
            if volume_is_due(seen, clocks) and seen.claim:
                removed, users = await self._remover.remove(seen.claim)
                seen = replace(seen, claim=None) if removed else seen
        job = await self._write(key, seen, job_status(seen, clocks, users))
        seen = replace(seen, job=job)
        again = await self._wake(key, seen)
        if again is not None:
            return again
        wait = next_look(seen, self._clock())
        if wait is None:
            # What seemed to be an end was none, or cannot be told yet.
            return DOUBT if doubtful and not job.finished else None
        return wait.total_seconds() or (IN_USE if users else DOUBT)

    async def _prove(self, key: Key, seen: Observed) -> tuple[Observed, Clocks] | None:
        """The same past the cache, with the API server's time; None where the job is gone."""
        fresh = await self._api.read(JOB, seen.job.metadata)
        job = fresh.item
        if job is None or job.metadata.uid != seen.job.metadata.uid:
            return None
        seen = self._caches.observe(key, job)
        clocks = Clocks(self._clock(), fresh.clock)
        if not job.finished and judge(seen, clocks).absence:
            # Nodes come last: one that has come back by then has not ended its pod.
            pods = await self._api.list_now(Pod, key.namespace)
            found = (p for p in pods if p.metadata and p.metadata.name == seen.pod_name)
            pod = next(map(small_pod, found), None)
            nodes = [node_facts(node) for node in await self._api.list_now(Node)]
            seen = with_pod(seen, pod, nodes, listed=True)
        return seen, clocks

    async def _write(self, key: Key, seen: Observed, wanted: dict[str, Any]) -> Job:
        """Write a job's status and tell what is new in it; returns the job with it."""
        job = seen.job
        if own_part(job.status, OWN) == wanted:
            return job
        applied = await self._api.apply_status(JOB, job.metadata, wanted)
        self.writes += 1
        written = self._keep(key, applied)
        for said in transitions(job.status, wanted):
            version = written.metadata.resource_version
            await self._api.tell(JOB, job.metadata, version, said)
        return written

    async def _is_blocked(self, key: Key, job: Job) -> bool:
        """Whether another's object has the name of a part of a job; remembers which one went."""
        if job.finished or job.going or failure(job).get("reason") != "Conflict":
            return False
        found = await find_foreign(self._api, job.metadata)
        if found is not None:
            self._foreign[key] = found
            return True
        # It may have gone before this process looked.
        gone = self._caches.gone
        gone[key] = self._foreign.pop(key, "") or gone.get(key, self._caches.born)
        return False

    async def _wake(self, key: Key, seen: Observed) -> float | None:
        """Have the role run again if there is a reason; returns the seconds until there may be."""
        blocked = await self._is_blocked(key, seen.job)
        lost = missing(seen)
        unsure = self._losses.is_unsure(key, lost=bool(lost))
        gone = self._caches.gone.get(key, "")
        value = wake_value(seen.job, [] if unsure else lost, gone, self._caches.born)
        if value is not None and value != seen.job.wake:
            self._keep(key, await self._api.wake(JOB, seen.job.metadata, value))
            self.wakes += 1
            why = "it has ended" if seen.job.finished else "something of it went"
            log.info("%s/%s: %s, its role is run again", *key, why)
        if unsure:
            return GRACE
        return IN_USE if blocked else None

    def _keep(self, key: Key, applied: dict[str, Any]) -> Job:
        """Know what was written before the watch tells of it."""
        written = parse_job(applied)
        self._caches.jobs.wrote(key, int(written.metadata.resource_version or 0), written)
        return written
