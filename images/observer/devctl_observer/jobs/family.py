"""The family of EphemeralAccelerationJobs."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from devctl.api.ephemeral_acceleration_job import Phase, claim_name
from devctl_observer.family import Followed
from devctl_observer.jobs.caches import JobCaches, claim_key, job_of_pod, job_of_warning
from devctl_observer.jobs.claims import ClaimController
from devctl_observer.jobs.controller import JobController
from devctl_observer.jobs.kinds import EphemeralAccelerationJob
from devctl_observer.jobs.model import parse_job
from devctl_observer.jobs.released import job_of
from devctl_observer.jobs.removal import Remover
from devctl_observer.store import Key
from devctl_observer.timestamps import utc_now
from devctl_observer.work_queue import WorkQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from lightkube.resources.core_v1 import Event, PersistentVolumeClaim, Pod

    from devctl.api.placing import NodeFacts
    from devctl_observer.children import Children
    from devctl_observer.cluster_api import ClusterApi
    from devctl_observer.jobs.model import Job

_WORKERS = 8
_CLAIM_WORKERS = 4


class Jobs:
    """Whom a change concerns among jobs and their claims.

    Args:
        children: What is watched for every family.
        api: What can be changed.
        clock: What time it is.
        steady: Seconds that pass, from whenever.
    """

    def __init__(
        self,
        children: Children,
        api: ClusterApi,
        *,
        clock: Callable[[], datetime] = utc_now,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """Know nothing yet."""
        self.caches = JobCaches(children)
        self.remover = Remover(api)
        self.controller = JobController(self.caches, api, self.remover, clock=clock, steady=steady)
        self.claim_controller = ClaimController(self.caches, api, self.remover, clock=clock)
        self.jobs = WorkQueue(self.controller.job)
        self.claims = WorkQueue(self.claim_controller.claim)

    @property
    def first(self) -> Sequence[Followed]:
        """Jobs."""
        return [Followed(EphemeralAccelerationJob, self.caches.jobs, parse_job, self._job)]

    @property
    def others(self) -> Sequence[Followed]:
        """Nothing that is not watched for every family."""
        return []

    @property
    def queues(self) -> Sequence[tuple[WorkQueue, int]]:
        """Jobs and claims."""
        return [(self.jobs, _WORKERS), (self.claims, _CLAIM_WORKERS)]

    def pod(self, old: Pod | None, new: Pod | None) -> None:
        """Look at the job that a pod is called after."""
        metadata = found.metadata if (found := new or old) else None
        key = job_of_pod(metadata.namespace, metadata.name) if metadata else None
        if metadata is None or key is None:
            return
        if new is None and (job := self.caches.jobs.get(key)):
            self.caches.gone[key] = metadata.uid or ""
            if old is not None and not job.finished:
                self.caches.last[key] = old
        self.jobs.add(key)

    def claim(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        """Look at a claim and at its job."""
        for found in (old, new):
            if found is not None and (key := job_of(found)):
                if new is None and found.metadata and self.caches.jobs.get(key):
                    self.caches.gone[key] = found.metadata.uid or ""
                self.jobs.add(key)
                self._claim(claim_key(found), there=new is not None)

    def warning(self, old: Event | None, new: Event | None) -> None:
        """Look at the job that a warning is about."""
        event = new or old
        if event and (key := job_of_warning(event.involvedObject)):
            self.jobs.add(key)

    def node(self, old: NodeFacts | None, new: NodeFacts | None) -> None:
        """Look at the jobs of a node that was lost or found."""
        if old is not None and new is not None and old.ready == new.ready:
            return
        name = new.name if new else old.name if old else ""
        for pod in self.caches.children.pods:
            metadata, spec = pod.metadata, pod.spec
            if metadata is None or spec is None or spec.nodeName != name:
                continue
            if key := job_of_pod(metadata.namespace, metadata.name):
                self.jobs.add(key)

    def look_again(self) -> None:
        """Look at every job, and at every claim of one."""
        for key in self.caches.jobs.keys():  # noqa: SIM118 - a Store is no dict; it iterates objects
            self.jobs.add(key)
        for claim in self.caches.children.claims:
            if job_of(claim):
                self.claims.add(claim_key(claim))

    def metrics(self) -> Iterator[str]:
        """How many jobs there are, and what was done about them."""
        counts = Counter(str(job.status.get("phase", Phase.PENDING)) for job in self.caches.jobs)
        for phase in Phase:
            yield f'devctl_observer_jobs{{phase="{phase}"}} {counts[str(phase)]}'
        controller = self.controller
        yield f'devctl_observer_status_writes_total{{kind="job"}} {controller.writes}'
        yield f'devctl_observer_looks_total{{kind="job"}} {controller.looks}'
        yield f'devctl_observer_looks_total{{kind="claim"}} {self.claim_controller.looks}'
        yield f'devctl_observer_wakes_total{{kind="job"}} {controller.wakes}'
        yield f"devctl_observer_claims_deleted_total {self.remover.removed}"

    def _job(self, old: Job | None, new: Job | None) -> None:
        """Look at a job; whether it is there decides about its claim."""
        job = new or old
        if job is None:
            return
        key = Key(job.metadata.namespace, job.metadata.name)
        # Also where it is gone: what is remembered of it goes then.
        self.jobs.add(key)
        if new is None:
            self.jobs.forget_timer(key)
            self.caches.gone.pop(key, None)
        if new is None or new.finished:
            self.caches.last.pop(key, None)
        if old is None or new is None:
            claim = Key(key.namespace, claim_name(key.name))
            self._claim(claim, there=self.caches.children.claims.get(claim) is not None)

    def _claim(self, key: Key, *, there: bool) -> None:
        if there:
            self.claims.add(key)
        else:
            self.claims.forget_timer(key)
