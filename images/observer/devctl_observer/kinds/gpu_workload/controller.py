"""Reconciles a GPUWorkload: chooses nodes, writes its status and triggers its role."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from time import perf_counter
from typing import Any

import msgspec
from lightkube import ApiError

from devctl.api.image_names import full_name
from devctl.api.messages import listed
from devctl_observer.control.controller import is_superseded
from devctl_observer.control.process import Process
from devctl_observer.control.role_controller import RoleController, soonest
from devctl_observer.judging.clocks import Clocks, from_text
from devctl_observer.kinds.gpu_workload.attempts import judge_attempt
from devctl_observer.kinds.gpu_workload.figures import DURATION, count
from devctl_observer.kinds.gpu_workload.model import KIND, GPUWorkload
from devctl_observer.kinds.gpu_workload.observed import Observed, WorkloadCaches
from devctl_observer.kinds.gpu_workload.ongoing import Ongoing
from devctl_observer.kinds.gpu_workload.placement import Choice, choose_all
from devctl_observer.kinds.gpu_workload.status import (
    OWN,
    assigned,
    expires_at,
    has_expired,
    workload_status,
)
from devctl_observer.kinds.gpu_workload.strategies import Demand, Strategy
from devctl_observer.kinds.gpu_workload.transitions import transitions
from devctl_observer.kinds.gpu_workload.wake import cause
from devctl_observer.watching.store import Key

log = logging.getLogger(__name__)

_NODE = 2.0
"""Seconds until a node is looked for again without a retry: nothing tells us of all free GPUs."""
_MARGIN = 1.0
"""Added to waits, because timers may fire slightly early."""


class WorkloadController(RoleController[GPUWorkload]):
    """Handles the work queue of GPUWorkloads.

    A choice depends on all the others. Between reading the caches and noting the choice in
    `chosen` nothing else runs, so no two workloads are promised the same GPU.
    """

    word = "gpuworkload"
    own = OWN

    def __init__(
        self, caches: WorkloadCaches, process: Process, strategies: Mapping[str, Strategy]
    ) -> None:
        """Start without any state."""
        super().__init__(KIND, caches.workloads, process)
        self._caches, self._strategies = caches, strategies

    def _forget(self, key: Key) -> None:
        super()._forget(key)
        self._caches.gone.pop(key, None)

    async def _look(self, key: Key, item: GPUWorkload) -> float | None:
        started, result = perf_counter(), "error"
        try:
            wait = await self._reconcile(key, item)
            result = "success"
        except ApiError as error:
            if is_superseded(error):
                result = "superseded"
            raise
        finally:
            DURATION.labels(result=result).observe(perf_counter() - started)
        return wait

    async def _reconcile(self, key: Key, item: GPUWorkload) -> float | None:
        clocks = Clocks(self._clock.now())
        if _is_due(item, clocks):
            fresh = await self._api.read(KIND, item.metadata)
            if fresh.item is None or fresh.item.metadata.uid != item.metadata.uid:
                return None
            item, clocks = fresh.item, Clocks(self._clock.now(), fresh.clock)
        seen = self._caches.observe(key, item)
        wanted = workload_status(seen, clocks, lambda: self._choose(key, item, clocks))
        try:
            written = await self._write(key, item, wanted, transitions(item.status, wanted))
        finally:
            self._caches.chosen.pop(key, None)
        count(item, written)
        if not written.in_attempt:
            self._caches.gone.pop(key, None)
        jobs = self._caches.own_jobs(written)
        again = await self._wake_if(key, written, (), lambda known: cause(written, jobs, known))
        return soonest(again, self._next_look(replace(seen, item=written), clocks))

    def _choose(self, key: Key, item: GPUWorkload, clocks: Clocks) -> Choice:
        """Choose the nodes, and note them until the status says so."""
        name = item.spec.scheduling_strategy
        strategy = self._strategies.get(name)
        if strategy is None:
            known = listed([f"`{each}`" for each in sorted(self._strategies)], 20)
            problem = f"strategy `{name}` is not installed: set spec.schedulingStrategy to {known}"
            return Choice(problem=problem, unknown=True)
        seed = f"{item.metadata.uid}\n{item.attempt}\n{item.retries}"
        spec = item.spec
        demand = Demand(spec.gpu_count, spec.model_name, seed, full_name(spec.image))
        places = self._caches.places(key, item, clocks.ours)
        try:
            choice = choose_all(strategy, demand, item.needs, places, item.spec.nodes)
        except Exception as error:  # another package's strategy must not stop the others
            log.exception("strategy %s", name)
            return Choice(problem=f"strategy `{name}` has failed: {error!r}")
        if choice.node:
            status: dict[str, Any] = {
                **item.status,
                **assigned(choice.nodes),
                "attempt": item.attempt + 1,
                "lastScheduleTime": clocks.ours.isoformat(),
            }
            self._caches.chosen[key] = msgspec.structs.replace(item, status=status)
        return choice

    def _next_look(self, seen: Observed, clocks: Clocks) -> float | None:
        """The seconds until the next step that nothing else reports."""
        item, now = seen.item, clocks.ours
        if item.going or (item.spec.stopped and not item.finished):
            return None
        if item.finished:
            at = None if has_expired(item) else expires_at(item, item.status)
        elif item.in_attempt:
            found = judge_attempt(seen, now)
            at = found.until if isinstance(found, Ongoing) else now
        else:
            at = from_text(item.status.get("nextRetryAt"))
            if at is None:
                return _NODE
        return None if at is None else max((at - now) / timedelta(seconds=1), 0.0) + _MARGIN


def _is_due(item: GPUWorkload, clocks: Clocks) -> bool:
    """Whether Jobs seem to have expired, which both clocks must confirm."""
    at = expires_at(item, item.status) if item.finished and not item.going else None
    return at is not None and clocks.passed(at) and not has_expired(item)
