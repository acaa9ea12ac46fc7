"""What is done about one job: derive its status, write it if it differs, and keep its times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lightkube.resources.core_v1 import Node, Pod

from devctl.api.applied import Reason
from devctl_observer.control.controller import DOUBT, IN_USE, Controller
from devctl_observer.control.losses import GRACE
from devctl_observer.jobs.caches import with_pod
from devctl_observer.jobs.deadlines import next_look
from devctl_observer.jobs.foreign import find_foreign
from devctl_observer.jobs.model import JOB, Job
from devctl_observer.jobs.status import OWN, job_status, judge, volume_is_due, wants_proof
from devctl_observer.jobs.transitions import transitions
from devctl_observer.jobs.wake import missing, wake_value
from devctl_observer.judging.applied import failure
from devctl_observer.judging.clocks import Clocks
from devctl_observer.watching.kept import node_facts, small_pod

if TYPE_CHECKING:
    from devctl_observer.artifacts.removal import Remover
    from devctl_observer.control.clock import Clock
    from devctl_observer.control.cluster_api import ClusterApi
    from devctl_observer.jobs.caches import JobCaches
    from devctl_observer.jobs.observed import Observed
    from devctl_observer.watching.store import Key


class JobController(Controller[Job]):
    """Handler of the work queue of jobs.

    Args:
        caches: What was observed.
        api: What can be changed.
        remover: Deletes claims.
        clock: What time it is.
    """

    own = OWN

    def __init__(
        self,
        caches: JobCaches,
        api: ClusterApi,
        remover: Remover,
        clock: Clock,
    ) -> None:
        """Count from zero."""
        super().__init__(JOB, caches.jobs, api, clock)
        self._caches, self._remover = caches, remover
        self._foreign: dict[Key, str] = {}

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
                removed, users = await self._remover.remove(seen.claim)
                seen = replace(seen, claim=None) if removed else seen
        wanted = job_status(seen, clocks, users)
        job = await self._write(key, seen.job, wanted, transitions(seen.job.status, wanted))
        seen = replace(seen, job=job)
        again = await self._wake_if(key, seen)
        if again is not None:
            return again
        wait = next_look(seen, self._clock.now())
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
        clocks = Clocks(self._clock.now(), fresh.clock)
        if not job.finished and judge(seen, clocks).absence:
            # Nodes come last: one that has come back by then has not ended its pod.
            pods = await self._api.list_now(Pod, key.namespace)
            found = (p for p in pods if p.metadata and p.metadata.name == seen.pod_name)
            pod = next(map(small_pod, found), None)
            nodes = [node_facts(node) for node in await self._api.list_now(Node)]
            seen = with_pod(seen, pod, nodes, listed=True)
        return seen, clocks

    async def _is_blocked(self, key: Key, job: Job) -> bool:
        """Whether another's object has the name of a part of a job; remembers which one went."""
        if job.finished or job.going or failure(job).get("reason") != Reason.CONFLICT:
            return False
        found = await find_foreign(self._api, job.metadata)
        if found is not None:
            self._foreign[key] = found
            return True
        # It may have gone before this process looked.
        gone = self._caches.gone
        gone[key] = self._foreign.pop(key, "") or gone.get(key, self._caches.born)
        return False

    async def _wake_if(self, key: Key, seen: Observed) -> float | None:
        """Have the role run again if there is a reason; returns the seconds until there may be."""
        blocked = await self._is_blocked(key, seen.job)
        lost = missing(seen)
        unsure = self._losses.is_unsure(key, lost=bool(lost))
        gone = self._caches.gone.get(key, "")
        grew = self._caches.children.grew(key.namespace)
        value = wake_value(seen.job, [] if unsure else lost, gone, self._caches.born, grew)
        if value is not None and value != seen.job.wake:
            why = "it has ended" if seen.job.finished else "something of it went"
            await self._wake(key, seen.job, value, why)
        if unsure:
            return GRACE
        return IN_USE if blocked else None

    def _forget(self, key: Key) -> None:
        super()._forget(key)
        self._foreign.pop(key, None)
