"""What a GPUWorkload's status is derived from, and the caches with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Pod

from devctl.api.gpu_workload import LABEL, RANK
from devctl.api.placing import NodeFacts
from devctl.api.quantities import GPU
from devctl_observer.judging.clocks import from_text
from devctl_observer.judging.exits import DISRUPTED
from devctl_observer.judging.model import is_owned, labels_of, meta_of
from devctl_observer.judging.pods import Surroundings, has_ended, is_refused, node_of, pod_condition
from devctl_observer.kinds.flavors.capacity import Capacity
from devctl_observer.kinds.flavors.model import Flavor
from devctl_observer.kinds.flavors.placed_pods import Asked, NodeUse
from devctl_observer.kinds.gpu_workload.claimed import ClaimedGpus
from devctl_observer.kinds.gpu_workload.model import GPUWorkload, placing
from devctl_observer.kinds.gpu_workload.placement import Place, with_gpus
from devctl_observer.kinds.gpu_workload.prices import gpu_prices
from devctl_observer.watching.children import Children, Owner
from devctl_observer.watching.store import Key, Store
from devctl_observer.watching.workloads import Owner as QueueOwner
from devctl_observer.watching.workloads import Queued

JOB_OF = "batch.kubernetes.io/job-name"
"""Kubernetes' label of a pod: its Job."""

PROMISED = timedelta(minutes=1)
"""For how long a chosen node is kept free for a pod that does not come."""


@dataclass(frozen=True)
class Observed:
    """A workload, and what was observed of its current attempt."""

    item: GPUWorkload
    job: Job | None = None
    """The Job of its last attempt."""
    pods: Sequence[Pod] = ()
    """The pods of that Job, by rank; of each rank, the newest."""
    gone: Sequence[Pod] = ()
    """The last states of its pods that are gone: they may say why."""
    queued: Queued | None = None
    """What Kueue reports on the Job; None outside of queues, or if it has not answered yet."""
    around: Surroundings = field(default_factory=Surroundings)
    nodes: frozenset[str] = frozenset()
    """Nodes that are ready."""
    preemptor: str = ""
    """The workload in its namespace for which it was preempted, if it is known."""

    @property
    def size(self) -> int:
        """How many pods the attempt has: as its Job says, whatever the spec says by now."""
        if self.job is None:
            return max(1, len(self.item.chosen))
        return (self.job.spec.completions if self.job.spec else None) or 1


@dataclass
class WorkloadCaches:
    """The stores that status and choices are derived from."""

    children: Children
    """The stores shared with other families."""
    use: NodeUse
    """What all pods request, by node."""
    placed: Store[Asked]
    """All pods on nodes."""
    flavors: Store[Flavor] = field(default_factory=Store)
    """All flavors, for their prices."""
    workloads: Store[GPUWorkload] = field(default_factory=lambda: Store(placing))
    jobs: Store[Job] = field(default_factory=Store)
    gone: dict[Key, dict[int, Pod]] = field(default_factory=dict)
    """The last pods of each attempt that are gone, by rank, until its end is recorded."""
    chosen: dict[Key, GPUWorkload] = field(default_factory=dict)
    """Workloads with nodes that are not stored yet: the request is under way."""

    def __post_init__(self) -> None:
        """Count GPUs that ResourceClaims hold, beside those that pods request."""
        children = self.children
        self.claimed = ClaimedGpus(children.devices)
        self.capacity = Capacity(children.nodes, self.use, children.devices)

    def own_jobs(self, item: GPUWorkload) -> list[Job]:
        """The Jobs of a workload, of all attempts."""
        owner = Owner(LABEL, Key(item.metadata.namespace, item.metadata.name))
        return [job for job in self.jobs.find(owner) if is_owned(job.metadata, item.metadata.uid)]

    def observe(self, key: Key, item: GPUWorkload) -> Observed:
        """Collect everything that the status is derived from, but for a choice."""
        children, name = self.children, item.job_name
        job = next((j for j in self.own_jobs(item) if meta_of(j.metadata).name == name), None)
        pods, gone = self._pods(key, name), self.gone.get(key, {})
        reports = children.workloads.find(QueueOwner("Job", Key(key.namespace, name)))
        uid = meta_of(job.metadata).uid if job else ""
        queued = next((report for report in reports if report.uid == uid), None)
        seen = Observed(
            item,
            job=job,
            pods=list(pods.values()),
            gone=[gone[rank] for rank in sorted(gone) if _job_of(gone[rank]) == name],
            queued=queued,
            around=Surroundings(warnings=children.warnings_about([job, *pods.values()])),
            nodes=frozenset(node.name for node in children.nodes if node.ready),
        )
        return replace(seen, preemptor=self._preemptor(seen))

    def places(self, key: Key, item: GPUWorkload, now: datetime) -> list[Place]:
        """All nodes, as a pod of this workload finds them."""
        promised = self._promised(key, now)
        prices = gpu_prices(self.children.nodes, self.flavors)
        return [
            Place(
                self._with_cache(node),
                self._used(node.name),
                self.capacity.below(node.name, item.level),
                promised.get(node.name, {}),
                prices.get(node.name),
            )
            for node in self.capacity.nodes
        ]

    def _used(self, node: str) -> Mapping[str, Decimal]:
        """What pods request of a node, and what claims hold of its GPUs."""
        used = self.capacity.of(node)
        # There, all that is taken of what it offers is counted already.
        whole = GPU in self.capacity.claimed(node)
        return used if whole else with_gpus(used, self.claimed.on(node))

    def _with_cache(self, node: NodeFacts) -> NodeFacts:
        """A node with all images that it is known to have: it lists only some of them itself."""
        cached = self.children.caches.images_on(node.name)
        return replace(node, images=node.images | cached) if cached else node

    def _promised(self, key: Key, now: datetime) -> Mapping[str, Mapping[str, Decimal]]:
        """What the other workloads will request that have a node but no pod on it yet, by node."""
        found: dict[str, dict[str, Decimal]] = {}
        stored = {_key(item): item for item in self.workloads.find(index=True)}
        for other, item in {**stored, **self.chosen}.items():
            if other == key:
                continue
            requests = item.needs.requests
            for node in self._promises(other, item, now):
                sums = found.setdefault(node, {})
                for name, amount in requests.items():
                    sums[name] = sums.get(name, Decimal(0)) + amount
        return found

    def _promises(self, key: Key, item: GPUWorkload, now: datetime) -> Iterator[str]:
        """The nodes that are promised to a workload, one for each pod that nobody counts yet."""
        pods, chosen = self._pods(key, item.job_name), item.chosen
        since = from_text(item.status.get("lastScheduleTime"))
        recent = since is not None and now - since < PROMISED
        for rank in sorted({*pods, *range(len(chosen))}):
            choice = chosen[rank] if recent and rank < len(chosen) else ""
            pod = pods.get(rank)
            if node := self._promise(pod, choice) if pod else choice:
                yield node

    def _promise(self, pod: Pod, choice: str) -> str:
        """The node that is promised to a pod; empty if none is, or if the pod is counted there."""
        meta = meta_of(pod.metadata)
        if node_of(pod):
            # The watch of all pods may not know it yet, or may know that it has ended.
            unknown = self.placed.get(Key(meta.namespace, meta.name)) is None
            return node_of(pod) if unknown and not has_ended(pod) else ""
        if nominated := pod.status and pod.status.nominatedNodeName:
            return nominated
        return "" if is_refused(pod) else choice

    def _pods(self, key: Key, job: str) -> dict[int, Pod]:
        """The pods of a Job, by rank; of each rank, the newest."""
        pods: Sequence[Pod] = self.children.pods.find(Owner(LABEL, key))
        found = [pod for pod in pods if _job_of(pod) == job]
        found.sort(key=lambda pod: (rank_of(pod), str(meta_of(pod.metadata).creation_timestamp)))
        return {rank_of(pod): pod for pod in found}

    def lost(self, key: Key, pod: Pod) -> None:
        """Remember a pod that is gone."""
        self.gone.setdefault(key, {})[rank_of(pod)] = pod

    def _preemptor(self, seen: Observed) -> str:
        """For whom a workload was preempted, if that is in its namespace."""
        item = seen.item
        if seen.queued and seen.queued.preempted_by:
            jobs = (
                job for job in self.jobs if meta_of(job.metadata).uid == seen.queued.preempted_by
            )
            return next((_workload(job, item) for job in jobs), "")
        marked = (pod for pod in [*seen.pods, *seen.gone] if pod_condition(pod, DISRUPTED))
        pod = next(marked, None)
        if pod is None:
            return ""
        node = node_of(pod)
        others = (other for other in self.children.pods if _takes(other, node, item.level))
        return next(filter(None, (_workload(other, item) for other in others)), "")


def _takes(pod: Pod, node: str, level: int) -> bool:
    """Whether a pod of a higher priority has a node, or is about to."""
    nominated = pod.status.nominatedNodeName if pod.status else None
    return node in {node_of(pod), nominated} and ((pod.spec and pod.spec.priority) or 0) > level


def _workload(child: Job | Pod, item: GPUWorkload) -> str:
    """The workload of a Job or pod, if it is in the namespace of another one."""
    meta = meta_of(child.metadata)
    here = meta.namespace == item.metadata.namespace
    return labels_of(child).get(LABEL, "") if here else ""


def rank_of(pod: Pod) -> int:
    """The rank of a pod; 0 if it is the only one."""
    return int(labels_of(pod).get(RANK, 0))


def _job_of(pod: Pod) -> str:
    return labels_of(pod).get(JOB_OF, "")


def _key(item: GPUWorkload) -> Key:
    return Key(item.metadata.namespace, item.metadata.name)
