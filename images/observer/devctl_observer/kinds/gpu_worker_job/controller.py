"""Reconciles a GPUWorkerJob: writes its status and triggers its role."""

from __future__ import annotations

from dataclasses import replace

from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Node, Pod

from devctl_observer.control.controller import DOUBT
from devctl_observer.control.process import Process
from devctl_observer.control.role_controller import RoleController, soonest
from devctl_observer.judging.clocks import Clocks
from devctl_observer.kinds.gpu_worker_job.deadlines import next_look, wants_proof
from devctl_observer.kinds.gpu_worker_job.model import KIND, GPUWorkerJob
from devctl_observer.kinds.gpu_worker_job.observed import JobCaches, Observed
from devctl_observer.kinds.gpu_worker_job.status import OWN, job_status
from devctl_observer.kinds.gpu_worker_job.transitions import transitions
from devctl_observer.kinds.gpu_worker_job.wake import cause, missing
from devctl_observer.watching.kept import node_facts, small_pod
from devctl_observer.watching.store import Key


class JobController(RoleController[GPUWorkerJob]):
    """Handles the work queue of GPUWorkerJobs."""

    word = "gpuworkerjob"
    own = OWN

    def __init__(self, caches: JobCaches, process: Process) -> None:
        """Start without any state."""
        super().__init__(KIND, caches.items, process)
        self._caches = caches

    def _forget(self, key: Key) -> None:
        super()._forget(key)
        self._caches.gone.pop(key, None)

    async def _look(self, key: Key, item: GPUWorkerJob) -> float | None:
        seen, clocks = self._caches.observe(key, item), Clocks(self._clock.now())
        if wants_proof(seen, clocks):
            proven = await self._prove(key, seen)
            if proven is None:
                return None
            seen, clocks = proven
        wanted = job_status(seen, clocks)
        item = await self._write(key, seen.item, wanted, transitions(seen.item.status, wanted))
        if item.finished:
            self._caches.gone.pop(key, None)
        seen = replace(seen, item=item)
        again = await self._wake_if(key, item, missing(seen), lambda known: cause(seen, known))
        wait = next_look(seen, Clocks(self._clock.now()))
        return soonest(again, None if wait is None else wait.total_seconds() or DOUBT)

    async def _prove(self, key: Key, seen: Observed) -> tuple[Observed, Clocks] | None:
        """Observe again past the cache, with the API server's time; None if the job is gone."""
        fresh = await self._api.read(KIND, seen.item.metadata)
        item = fresh.item
        if item is None or item.metadata.uid != seen.item.metadata.uid:
            return None
        seen, name = self._caches.observe(key, item), item.metadata.name
        if not item.finished:
            found = await self._api.list_now(Job, key.namespace, name)
            seen = seen.with_job(found)
        if wanting := [run for run in item.runs if "finishedAt" not in run]:
            # Nodes are listed last: one that is back by then has not lost its pod.
            names = [str(run["podName"]) for run in wanting]
            pods = [await self._api.list_now(Pod, key.namespace, each) for each in names]
            nodes = [node_facts(node) for node in await self._api.list_now(Node)]
            seen = seen.with_pods(names, [small_pod(pod) for some in pods for pod in some], nodes)
        return seen, Clocks(self._clock.now(), fresh.clock)
