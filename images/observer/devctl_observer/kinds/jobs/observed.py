"""What a job's status is derived from, and the caches with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod

from devctl.api.ephemeral_acceleration_job import claim_name, pod_name
from devctl.api.placing import NodeFacts
from devctl.api.queues import FINALIZER, QUEUE_NAME
from devctl_observer.judging.clocks import from_text
from devctl_observer.judging.model import is_owned, labels_of
from devctl_observer.judging.pods import Surroundings, ends_at
from devctl_observer.kinds.artifacts.claims import claim_key, is_claim_of, job_of, stays
from devctl_observer.kinds.jobs.model import Job
from devctl_observer.watching.children import Children
from devctl_observer.watching.store import Key, Store
from devctl_observer.watching.workloads import Owner, Queued


def is_own(pod: Pod, job: Job) -> bool:
    """Whether a pod is this very job's: not an earlier job's, nor created after its program ran."""
    if not is_owned(pod.metadata, job.metadata.uid):
        return False
    started = from_text(job.status.get("startedAt"))
    made = pod.metadata.creationTimestamp if pod.metadata else None
    return not (job.started and started and made and made > started)


def is_held(pod: Pod) -> bool:
    """Whether a deleted pod waits for Kueue, which takes a moment unless it is down."""
    finalizers = (pod.metadata.finalizers if pod.metadata else None) or []
    return ends_at(pod) is not None and FINALIZER in finalizers


@dataclass(frozen=True)
class Observed:
    """A job and what was observed of its children."""

    job: Job
    pod: Pod | None = None
    """Its own pod."""
    last: Pod | None = None
    """The last state of its own pod, if that is gone: a kubelet may report the end of a pod and
    remove it within milliseconds."""
    taken: bool = False
    """Whether the pod with its name is not its own."""
    held: bool = False
    """Whether that pod is being deleted and Kueue has not released it yet."""
    claim: PersistentVolumeClaim | None = None
    """The claim with its name, if a role created it for the job's owner and it is not deleted."""
    around: Surroundings = field(default_factory=Surroundings)
    nodes: frozenset[str] = frozenset()
    """Nodes that are ready."""
    listed: bool = False
    """Whether pod and nodes were listed past the cache."""
    queued: Queued | None = None
    """What Kueue reports on its own pod; None outside of queues, or if it has not answered yet."""

    @property
    def pod_name(self) -> str:
        """The name of its pod."""
        return pod_name(self.job.metadata.name)

    @property
    def in_queue(self) -> bool:
        """Whether its pod is or was in a queue of Kueue's."""
        return any(pod and QUEUE_NAME in labels_of(pod) for pod in (self.pod, self.last))

    def with_reports(self, reports: Iterable[Queued]) -> Observed:
        """A copy with what Kueue reports on its pod; a report on an earlier pod may remain."""
        owner = Owner("Pod", Key(self.job.metadata.namespace, self.pod_name))
        uids = {pod.metadata.uid for pod in (self.pod, self.last) if pod and pod.metadata}
        own = (each for each in reports if each.owner == owner and each.uid in uids)
        return replace(self, queued=next(own, None))

    def with_pod(
        self, pod: Pod | None, nodes: Iterable[NodeFacts], *, listed: bool = False
    ) -> Observed:
        """A copy with the nodes, and with the pod of its name, which may be another job's."""
        own = pod is not None and is_own(pod, self.job)
        return replace(
            self,
            pod=pod if own else None,
            taken=pod is not None and not own,
            held=pod is not None and is_held(pod),
            nodes=frozenset(node.name for node in nodes if node.ready),
            listed=listed,
        )


@dataclass
class JobCaches:
    """The stores that a job's status is derived from."""

    children: Children
    """The stores shared with other families."""
    jobs: Store[Job] = field(default_factory=Store)
    last: dict[Key, Pod] = field(default_factory=dict)
    """The last state of each job's pod, if that was deleted before the job's end was known."""

    def observe(self, key: Key, job: Job) -> Observed:
        """Collect everything that a job's status is derived from."""
        children = self.children
        pod = children.pods.get(Key(key.namespace, pod_name(key.name)))
        found = children.claims.get(claim_key(key))
        own = found and job_of(found) == key and is_claim_of(found, job) and stays(found)
        claim = found if own else None
        claims = {claim_name(key.name): claim} if claim else {}
        last = self.last.get(key)
        reports = children.workloads.find(Owner("Pod", Key(key.namespace, pod_name(key.name))))
        seen = Observed(
            job,
            last=last if last and is_own(last, job) else None,
            claim=claim,
            around=Surroundings(claims, children.warnings_about([pod, claim])),
        )
        return seen.with_pod(pod, children.nodes).with_reports(reports)
