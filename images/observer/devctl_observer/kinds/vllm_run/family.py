"""VLLMRuns: what is watched for them, and which changes matter."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, ClassVar

from lightkube.resources.core_v1 import Pod
from prometheus_client import Gauge

from devctl.api.vllm_run import LABEL, Phase, pod_name
from devctl_observer.control.family import Family
from devctl_observer.control.figures import COMMON
from devctl_observer.control.process import Process
from devctl_observer.judging.devices import Claim
from devctl_observer.judging.model import meta_of
from devctl_observer.kinds.vllm_run.controller import RunController
from devctl_observer.kinds.vllm_run.model import VLLMRun
from devctl_observer.kinds.vllm_run.observed import RunCaches
from devctl_observer.watching.store import Key

_RUNS = Gauge("vllmruns", "VLLMRuns, by phase.", ["phase"], **COMMON)


class VLLMRuns(Family[VLLMRun]):
    """The family of VLLMRuns."""

    controller: RunController
    label = LABEL
    names: ClassVar = {"Pod": f"(.+){re.escape(pod_name(''))}"}

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        self.caches = RunCaches(process.children)
        super().__init__(RunController(self.caches, process))
        process.children.devices.listeners.append(self._devices)
        process.children.caches.planned.append(self._planned)
        for phase in Phase:
            _RUNS.labels(phase=phase).set_function(partial(self._count, phase))

    def child(self, key: Key, old: Any, new: Any) -> None:
        """Reconcile the run of a pod; remember a pod that is gone."""
        found = new or old
        if not isinstance(found, Pod) or meta_of(found.metadata).name != pod_name(key.name):
            return
        if new is None and (run := self.store.get(key)) and not run.finished:
            self.caches.last[key] = old
        super().child(key, old, new)

    def _devices(self, old: Claim | None, new: Claim | None) -> None:
        """Reconcile the runs that wait for GPUs, and those that have some: claims are few."""
        for run in self.store:
            key = Key(run.metadata.namespace, run.metadata.name)
            owned = old is not None and run.metadata.uid in old.owners
            if old and owned and new is None:
                self.controller.gone[key] = old.uid
            # A finished one tells whether its claim was given back.
            if owned or not run.finished:
                self.queue.add(key)

    def _planned(self) -> None:
        """Reconcile the runs that may name something of the plan."""
        for run in self._unfinished():
            self.queue.add(Key(run.metadata.namespace, run.metadata.name))

    def _unfinished(self) -> list[VLLMRun]:
        return [run for run in self.store if not run.finished]

    def _count(self, phase: Phase) -> int:
        """The number of runs in a phase."""
        return sum(run.phase is phase for run in self.store)
