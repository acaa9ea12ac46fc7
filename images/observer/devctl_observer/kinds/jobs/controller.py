"""Reconciles a job: writes its status, triggers its role and deletes its expired volume."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from lightkube import ApiError
from lightkube.resources.core_v1 import Node, Pod

from devctl.api.ephemeral_acceleration_job import Phase
from devctl_observer.control.controller import DOUBT, IN_USE
from devctl_observer.control.process import Process
from devctl_observer.control.role_controller import RoleController, soonest
from devctl_observer.judging.clocks import Clocks
from devctl_observer.kinds.artifacts.controller import remove
from devctl_observer.kinds.jobs.deadlines import next_look
from devctl_observer.kinds.jobs.model import JOB, Job
from devctl_observer.kinds.jobs.observed import JobCaches, Observed
from devctl_observer.kinds.jobs.status import OWN, job_status, judge, volume_is_due, wants_proof
from devctl_observer.kinds.jobs.transitions import transitions
from devctl_observer.kinds.jobs.wake import cause, missing
from devctl_observer.watching.kept import node_facts, small_pod
from devctl_observer.watching.store import Key
from devctl_observer.watching.workloads import Workload, queued


class JobController(RoleController[Job]):
    """Handles the work queue of jobs."""

    word = "job"
    own = OWN

    def __init__(self, caches: JobCaches, process: Process) -> None:
        """Start without any state."""
        super().__init__(JOB, caches.jobs, process)
        self._caches = caches

    async def _look(self, key: Key, item: Job) -> float | None:
        seen, clocks = self._caches.observe(key, item), Clocks(self._clock.now())
        users: list[str] = []
        doubtful = wants_proof(seen, clocks)
        if doubtful:
            proven = await self._prove(key, seen)
            if proven is None:
                return None
            seen, clocks = proven
            if volume_is_due(seen, clocks) and seen.claim:
                removed, users = await remove(self._api, seen.claim)
                seen = replace(seen, claim=None) if removed else seen
        wanted = job_status(seen, clocks, users)
        job = await self._write(key, seen.job, wanted, transitions(seen.job.status, wanted))
        seen = replace(seen, job=job)
        again = await self._wake_if(key, job, missing(seen), lambda known: cause(job, known))
        wait = next_look(seen, self._clock.now())
        if wait is None:
            # What looked like the end was not, or cannot be recorded yet.
            return soonest(again, DOUBT if doubtful and not job.finished else None)
        return soonest(again, wait.total_seconds() or (IN_USE if users else DOUBT))

    async def _prove(self, key: Key, seen: Observed) -> tuple[Observed, Clocks] | None:
        """Observe again past the cache, with the API server's time; None if the job is gone."""
        fresh = await self._api.read(JOB, seen.job.metadata)
        job = fresh.item
        if job is None or job.metadata.uid != seen.job.metadata.uid:
            return None
        seen = self._caches.observe(key, job)
        clocks = Clocks(self._clock.now(), fresh.clock)
        if not job.finished and judge(seen, clocks).absence:
            # Nodes are listed last: one that is back by then has not ended its pod.
            pods = await self._api.list_now(Pod, key.namespace, seen.pod_name)
            pod = next(map(small_pod, pods), None)
            nodes = [node_facts(node) for node in await self._api.list_now(Node)]
            seen = seen.with_pod(pod, nodes, listed=True)
        if seen.in_queue and not job.finished and judge(seen, clocks).phase is Phase.FAILED:
            seen = await self._with_reports(key, seen)
        return seen, clocks

    async def _with_reports(self, key: Key, seen: Observed) -> Observed:
        """A copy with what Kueue reports now, which it does before it deletes a preempted pod.

        The watch of pods may be ahead of that of the reports.
        """
        try:
            found = await self._api.list_now(Workload, key.namespace)
        except ApiError as error:
            if error.status.code != HTTPStatus.NOT_FOUND:
                raise
            # Kueue has been removed.
            return seen
        return seen.with_reports(map(queued, found))
