"""GPUWorkloads: what is watched for them, and which changes matter."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, ClassVar

from lightkube.models.core_v1 import ObjectReference
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Pod
from prometheus_client import Gauge

from devctl.api.gpu_workload import LABEL, Phase
from devctl_observer.control.family import Family
from devctl_observer.control.figures import COMMON
from devctl_observer.control.process import Process
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.gpu_workload.controller import WorkloadController
from devctl_observer.kinds.gpu_workload.model import GPUWorkload
from devctl_observer.kinds.gpu_workload.observed import WorkloadCaches
from devctl_observer.kinds.gpu_workload.registry import installed
from devctl_observer.watching.store import Key

_RANKED = re.compile("(.+)-[0-9]+-[0-9]+-[a-z0-9]{5}")
"""The name of a pod of several, which also has its rank; the one group is the workload's name."""
_WORKLOADS = Gauge("gpuworkloads", "GPUWorkloads, by phase.", ["phase"], **COMMON)


class GPUWorkloads(Family[GPUWorkload]):
    """The family of GPUWorkloads."""

    controller: WorkloadController
    label = LABEL
    # The name of a Job ends in the number of its attempt, that of its pod in five characters more.
    names: ClassVar = {"Job": "(.+)-[0-9]+", "Pod": "(.+)-[0-9]+-[a-z0-9]{5}"}

    def __init__(self, flavors: Flavors, process: Process) -> None:
        """Start without any state."""
        self._children = children = process.children
        self.caches = WorkloadCaches(children, flavors.use, flavors.placed, flavors.store)
        self.caches.jobs = children.follow(Job)
        super().__init__(WorkloadController(self.caches, process, installed()))
        for phase in Phase:
            _WORKLOADS.labels(phase=phase).set_function(partial(self._count, phase))

    def of_child(self, about: ObjectReference) -> Key | None:
        """The owner of a Job or pod of that name.

        Rank 1 of `one` and the only pod of `one-1` are named alike: a pod that is known says whose
        it is.
        """
        known = self._children.warned(about)
        if known and known.label == self.label:
            return known.key
        plain = super().of_child(about)
        if plain and self.store.get(plain):
            return plain
        ranked = _RANKED.fullmatch(about.name or "") if about.kind == "Pod" else None
        return Key(about.namespace or "", ranked[1]) if ranked else plain

    def child(self, key: Key, old: Any, new: Any) -> None:
        """Reconcile the workload of a Job or pod; remember a pod that is gone."""
        if isinstance(old, Pod) and new is None:
            self.caches.lost(key, old)
        super().child(key, old, new)

    def _count(self, phase: Phase) -> int:
        """The number of workloads in a phase."""
        return sum(item.phase is phase for item in self.store)
