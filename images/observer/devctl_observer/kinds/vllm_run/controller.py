"""Reconciles a VLLMRun: writes its status and triggers its role."""

from __future__ import annotations

from dataclasses import replace

from lightkube.resources.core_v1 import Node, Pod
from prometheus_client import Counter

from devctl.api.vllm_run import pod_name
from devctl_observer.control.controller import DOUBT
from devctl_observer.control.figures import COMMON
from devctl_observer.control.process import Process
from devctl_observer.control.role_controller import RoleController, soonest
from devctl_observer.judging.clocks import Clocks
from devctl_observer.kinds.vllm_run.deadlines import next_look, wants_proof
from devctl_observer.kinds.vllm_run.model import KIND, VLLMRun
from devctl_observer.kinds.vllm_run.observed import Observed, RunCaches
from devctl_observer.kinds.vllm_run.status import OWN, judge, run_status
from devctl_observer.kinds.vllm_run.transitions import transitions
from devctl_observer.kinds.vllm_run.wake import cause, missing
from devctl_observer.watching.kept import node_facts, small_pod
from devctl_observer.watching.store import Key

_SAVED = Counter(
    *(
        "vllmruns_saved_seconds",
        "Seconds that nodes' caches have saved VLLMRuns, as measured there.",
    ),
    **COMMON,
)


class RunController(RoleController[VLLMRun]):
    """Handles the work queue of VLLMRuns."""

    word = "vllmrun"
    own = OWN

    def __init__(self, caches: RunCaches, process: Process) -> None:
        """Start without any state."""
        super().__init__(KIND, caches.runs, process)
        self._caches = caches

    def _forget(self, key: Key) -> None:
        super()._forget(key)
        self._caches.last.pop(key, None)

    async def _look(self, key: Key, item: VLLMRun) -> float | None:
        seen, clocks = self._caches.observe(key, item), Clocks(self._clock.now())
        if wants_proof(seen, clocks):
            proven = await self._prove(key, seen)
            if proven is None:
                return None
            seen, clocks = proven
        wanted = run_status(seen, clocks)
        run = await self._write(key, seen.run, wanted, transitions(seen.run.status, wanted))
        if (saved := run.status.get("cache")) and saved != seen.run.status.get("cache"):
            _SAVED.inc(saved["savedSeconds"])
        seen, plan = replace(seen, run=run), self._caches.plan
        again = await self._wake_if(key, run, missing(seen), lambda known: cause(run, plan, known))
        wait = next_look(seen, Clocks(self._clock.now()))
        return soonest(again, None if wait is None else wait.total_seconds() or DOUBT)

    async def _prove(self, key: Key, seen: Observed) -> tuple[Observed, Clocks] | None:
        """Observe again past the cache, with the API server's time; None if the run is gone."""
        fresh = await self._api.read(KIND, seen.run.metadata)
        run = fresh.item
        if run is None or run.metadata.uid != seen.run.metadata.uid:
            return None
        seen, clocks = self._caches.observe(key, run), Clocks(self._clock.now(), fresh.clock)
        if not run.finished and judge(seen, clocks).absence:
            # Nodes are listed last: one that is back by then has not ended its pod.
            pods = await self._api.list_now(Pod, key.namespace, pod_name(key.name))
            nodes = [node_facts(node) for node in await self._api.list_now(Node)]
            seen = seen.with_pod(next(map(small_pod, pods), None), nodes)
        return seen, clocks
