"""What a GPUWorkerJob's status is derived from, and the caches with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Pod

from devctl.api.gpu_worker_job import LABEL
from devctl.api.placing import NodeFacts
from devctl_observer.judging.clocks import Clocks
from devctl_observer.judging.job_conditions import job_condition
from devctl_observer.judging.model import is_owned, meta_of
from devctl_observer.judging.pods import Surroundings
from devctl_observer.kinds.gpu_worker_job.model import GPUWorkerJob
from devctl_observer.kinds.gpu_worker_job.runs import Evidence
from devctl_observer.watching.children import Children, Owner
from devctl_observer.watching.store import Key, Store
from devctl_observer.watching.workloads import Owner as QueueOwner
from devctl_observer.watching.workloads import Queued


@dataclass(frozen=True)
class Observed:
    """A job, and what was observed of its Job."""

    item: GPUWorkerJob
    job: Job | None = None
    pods: Sequence[Pod] = ()
    """The pods of its Job, the oldest first."""
    gone: Sequence[Pod] = ()
    """The last states of its pods that are gone."""
    queued: Queued | None = None
    """What Kueue reports on the Job; None outside of queues, or if it has not answered yet."""
    around: Surroundings = field(default_factory=Surroundings)
    nodes: Sequence[NodeFacts] = ()

    @property
    def ready(self) -> frozenset[str]:
        """Nodes that are ready."""
        return frozenset(node.name for node in self.nodes if node.ready)

    @property
    def ended_at(self) -> datetime | None:
        """When the Job ended; None if it has not."""
        if self.job is None:
            return None
        said = job_condition(self.job, "Complete") or job_condition(self.job, "Failed")
        return said.lastTransitionTime if said else None

    def evidence(self, clocks: Clocks) -> Evidence:
        """What its runs are derived from."""
        return Evidence(clocks, self.pods, self.gone, self.ready, self.ended_at)

    def with_job(self, found: Sequence[Job]) -> Observed:
        """The same with one of these Jobs, if it is its own, which are newer."""
        own = (job for job in found if is_owned(job.metadata, self.item.metadata.uid))
        return replace(self, job=next(own, None))

    def with_pods(
        self, names: Sequence[str], found: Sequence[Pod], nodes: Sequence[NodeFacts]
    ) -> Observed:
        """The same with newer states: of all nodes, and of the pods of some names.

        A pod that is gone by now keeps its last known state.
        """
        there = {meta_of(pod.metadata).uid for pod in found}
        others = [pod for pod in self.pods if meta_of(pod.metadata).name not in names]
        lost = [
            pod
            for pod in self.pods
            if meta_of(pod.metadata).name in names and meta_of(pod.metadata).uid not in there
        ]
        own = [pod for pod in found if _is_of(self.item, pod)]
        return replace(
            self,
            pods=sorted([*others, *own], key=_made),
            gone=sorted([*self.gone, *lost], key=_made),
            nodes=tuple(nodes),
        )

    @property
    def last(self) -> Pod | None:
        """The newest of all its pods."""
        return max([*self.gone, *self.pods], key=_made, default=None)


@dataclass
class JobCaches:
    """The stores that status is derived from."""

    children: Children
    """The stores shared with other families."""
    items: Store[GPUWorkerJob] = field(default_factory=Store)
    jobs: Store[Job] = field(default_factory=Store)
    gone: dict[Key, dict[str, Pod]] = field(default_factory=dict)
    """The pods of unfinished ones that are gone, by UID."""

    def observe(self, key: Key, item: GPUWorkerJob) -> Observed:
        """Collect everything that the status is derived from."""
        children, owner = self.children, Owner(LABEL, key)
        found = (j for j in self.jobs.find(owner) if is_owned(j.metadata, item.metadata.uid))
        job = next(found, None)
        uid = meta_of(job.metadata).uid if job else ""
        pods = [pod for pod in children.pods.find(owner) if _is_of(item, pod)]
        gone = [pod for pod in self.gone.get(key, {}).values() if _is_of(item, pod)]
        reports = children.workloads.find(QueueOwner("Job", key))
        return Observed(
            item,
            job=job,
            pods=sorted(pods, key=_made),
            gone=sorted(gone, key=_made),
            queued=next((report for report in reports if report.uid == uid), None),
            around=Surroundings(warnings=children.warnings_about([job, *pods])),
            nodes=tuple(children.nodes),
        )

    def lost(self, key: Key, pod: Pod) -> None:
        """Remember a pod that is gone, as long as that may matter."""
        item = self.items.get(key)
        if item and item.finished:
            return
        self.gone.setdefault(key, {})[meta_of(pod.metadata).uid] = pod


def _is_of(item: GPUWorkerJob, pod: Pod) -> bool:
    """Whether a pod with a job's label is this very job's, even if its Job is gone."""
    since, made = item.metadata.creation_timestamp, meta_of(pod.metadata).creation_timestamp
    return since is None or made is None or made >= since


def _made(pod: Pod) -> tuple[str, str]:
    meta = meta_of(pod.metadata)
    made = meta.creation_timestamp
    return made.isoformat() if made else "", meta.name
