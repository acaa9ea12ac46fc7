"""EphemeralAccelerationJobs and their claims: what is watched, and which changes matter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from lightkube.resources.core_v1 import Pod
from prometheus_client import Gauge

from devctl.api.ephemeral_acceleration_job import JOB as LABEL
from devctl.api.ephemeral_acceleration_job import Phase, claim_name, pod_name
from devctl_observer.control.family import Family, export_queue
from devctl_observer.control.figures import COMMON
from devctl_observer.control.process import Process
from devctl_observer.control.work_queue import WorkQueue
from devctl_observer.judging.model import meta_of
from devctl_observer.kinds.artifacts.claims import claim_key, job_of
from devctl_observer.kinds.artifacts.controller import ClaimController
from devctl_observer.kinds.jobs.controller import JobController
from devctl_observer.kinds.jobs.model import Job
from devctl_observer.kinds.jobs.observed import JobCaches
from devctl_observer.watching.store import Key

_CLAIM_WORKERS = 4
_JOBS = Gauge("jobs", "Jobs.", ["phase"], **COMMON)


class Jobs(Family[Job]):
    """The family of EphemeralAccelerationJobs and their claims."""

    controller: JobController
    label = LABEL
    names: ClassVar = {"Pod": pod_name("(.+)"), "PersistentVolumeClaim": claim_name("(.+)")}

    def __init__(self, process: Process) -> None:
        """Start without any state."""
        self.caches = JobCaches(process.children)
        super().__init__(JobController(self.caches, process))
        self.claim_controller = ClaimController(self.controller, process)
        self.claims = WorkQueue(self.claim_controller.look)
        export_queue(ClaimController.word, self.claims)
        for phase in Phase:
            _JOBS.labels(phase=phase).set_function(partial(self._count, phase))

    @property
    def queues(self) -> Sequence[tuple[WorkQueue, int]]:
        """The queues of jobs and of claims."""
        return [*super().queues, (self.claims, _CLAIM_WORKERS)]

    def changed(self, old: Job | None, new: Job | None) -> None:
        """Reconcile a changed job; also its claim if the job was created or deleted."""
        super().changed(old, new)
        job = new or old
        if job is None:
            return
        key = Key(job.metadata.namespace, job.metadata.name)
        if new is None or new.finished:
            self.caches.last.pop(key, None)
        if old is None or new is None:
            there = self.caches.children.claims.get(claim_key(key)) is not None
            self._claim(key, there=there)

    def child(self, key: Key, old: Any, new: Any) -> None:
        """Reconcile a child's job, and the child if it is the claim; remember a deleted pod."""
        found = new or old
        if isinstance(found, Pod):
            if meta_of(found.metadata).name != pod_name(key.name):
                return
            if new is None and (job := self.store.get(key)) and not job.finished:
                self.caches.last[key] = old
        elif job_of(found) == key:
            self._claim(key, there=new is not None)
        else:
            return
        super().child(key, old, new)

    def look_again(self) -> None:
        """Reconcile all jobs and their claims."""
        super().look_again()
        for job in filter(None, map(job_of, self.caches.children.claims)):
            self.claims.add(claim_key(job))

    def _count(self, phase: Phase) -> int:
        """The number of jobs in a phase."""
        return sum(job.status.get("phase", Phase.PENDING) == phase for job in self.store)

    def _claim(self, job: Key, *, there: bool) -> None:
        if there:
            self.claims.add(claim_key(job))
        else:
            self.claims.forget_timer(claim_key(job))
