"""GPUWorkerJobs: what is watched for them, and which changes matter."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Pod
from prometheus_client import Gauge

from devctl.api.gpu_worker_job import LABEL, Phase
from devctl.api.placing import NodeFacts
from devctl_observer.control.family import Family
from devctl_observer.control.figures import COMMON
from devctl_observer.control.process import Process
from devctl_observer.kinds.gpu_worker_job.controller import JobController
from devctl_observer.kinds.gpu_worker_job.model import GPUWorkerJob
from devctl_observer.kinds.gpu_worker_job.observed import JobCaches
from devctl_observer.watching.store import Key

_JOBS = Gauge("gpuworkerjobs", "GPUWorkerJobs, by phase.", ["phase"], **COMMON)


class GPUWorkerJobs(Family[GPUWorkerJob]):
    """The family of GPUWorkerJobs."""

    controller: JobController
    label = LABEL
    # The name of a Job is its owner's, that of its pod ends in five characters more.
    names: ClassVar = {"Job": "(.+)", "Pod": "(.+)-[a-z0-9]{5}"}

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        self.caches = JobCaches(process.children)
        self.caches.jobs = process.children.follow(Job)
        super().__init__(JobController(self.caches, process))
        for phase in Phase:
            _JOBS.labels(phase=phase).set_function(partial(self._count, phase))

    def child(self, key: Key, old: Any, new: Any) -> None:
        """Reconcile the job of a Job or pod; remember a pod that is gone."""
        if isinstance(old, Pod) and new is None:
            self.caches.lost(key, old)
        super().child(key, old, new)

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """Reconcile those that a change of a node may concern: all that have not ended."""
        if old != new:
            for item in self.store:
                if not item.finished:
                    self.queue.add(Key(item.metadata.namespace, item.metadata.name))

    def _count(self, phase: Phase) -> int:
        """The number of jobs in a phase."""
        return sum(item.phase is phase for item in self.store)
