"""Who runs what, from pods, servers, jobs and flavors."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from lightkube.models.core_v1 import Pod

from devctl.api import kinds
from devctl.api.ephemeral_acceleration_job import JOB, pod_name
from devctl.api.gpu_workload import LABEL
from devctl.api.idleness import Idleness
from devctl.api.labels import DEVSERVER, FLAVOR, OWNER_UID
from devctl.api.placing import NodeFacts
from devctl.api.pod_spec import shape
from devctl.api.prices import NO_PRICE, Price
from devctl.api.quantities import gpus_in
from devctl.api.usage import LineKey
from devctl.api.vllm_run import GPUS
from devctl.api.vllm_run import LABEL as RUN
from devctl_observer.judging.model import labels_of, meta_of, notes_of
from devctl_observer.judging.pods import gpus_of, node_of, own_statuses
from devctl_observer.kinds.flavors.model import Flavor
from devctl_observer.kinds.gpu_workload.model import GPUWorkload
from devctl_observer.kinds.gpu_workload.prices import gpu_price, priced_by
from devctl_observer.kinds.jobs.model import Job, JobSpec
from devctl_observer.kinds.servers.model import Server
from devctl_observer.kinds.servers.observed import Caches
from devctl_observer.kinds.users.model import User
from devctl_observer.kinds.vllm_run.model import VLLMRun
from devctl_observer.watching.store import Key, Store

BY_NODE = {kinds.GPU_WORKLOAD.name, kinds.VLLM_RUN.name}
"""Kinds without a flavor: what their GPUs cost, those of the node say."""


@dataclass(frozen=True)
class Stop:
    """A stop for idleness."""

    uid: str
    """Identifies it: the same server may be stopped again."""
    at: int
    """In seconds since 1970, by the observer's clock at the time."""


@dataclass(frozen=True)
class Sources:
    """The stores from which lines are derived; others fill them."""

    servers: Caches
    jobs: Store[Job]
    flavors: Store[Flavor]
    workloads: Store[GPUWorkload] = field(default_factory=Store)
    runs: Store[VLLMRun] = field(default_factory=Store)
    users: Store[User] = field(default_factory=Store)
    nodes: Store[NodeFacts] = field(default_factory=Store)

    def is_counted(self, pod: Pod) -> bool:
        """Whether a pod is a server's, a workload's or a run's, or the one that runs a job."""
        labels = labels_of(pod)
        if job := labels.get(JOB):
            return meta_of(pod.metadata).name == pod_name(job)
        return any(labels.get(name) for name in (DEVSERVER, LABEL, RUN))

    def line_of(self, pod: Pod) -> tuple[LineKey, bool]:
        """The line of a pod, and whether it is certain: its owner and its flavor exist."""
        labels, meta = labels_of(pod), meta_of(pod.metadata)
        if name := labels.get(LABEL):
            key = Key(meta.namespace, name)
            return self._of_node(kinds.GPU_WORKLOAD, self.workloads.get(key), pod)
        if name := labels.get(RUN):
            return self._of_node(kinds.VLLM_RUN, self.runs.get(Key(meta.namespace, name)), pod)
        if name := labels.get(DEVSERVER):
            server = self.servers.servers.get(Key(meta.namespace, name))
            flavor = notes_of(pod).get(FLAVOR, "")
            uid = labels.get(OWNER_UID) or (server.metadata.uid if server else "")
            line = self._of_server(server, name, uid, flavor)
            return line, server is not None and self._has(flavor)
        job = self.jobs.get(Key(meta.namespace, labels[JOB]))
        spec = job.spec if job else JobSpec()
        price = self._price_of(spec.flavor, NO_PRICE)
        line = LineKey(
            *(spec.owner, kinds.JOB.name), flavor=spec.flavor, team=spec.team, price=price
        )
        return line, job is not None and self._has(spec.flavor)

    def stopped(self, server: Server) -> tuple[LineKey, int, int]:
        """The line of a stopped server, the number of its pods, and the GPUs of each."""
        meta = server.metadata
        key = Key(meta.namespace, meta.name)
        name = self.servers.observe(key, server).flavor
        flavor = self.flavors.get(Key("", name))
        asked = gpus_in(flavor.spec.resources.requests) if flavor else 0
        line = self._of_server(server, meta.name, meta.uid, name)
        return line, shape(server.pod_spec)[0], asked

    def priced(self, line: LineKey, node: str = "") -> LineKey:
        """A line with the price of today; that of a flavor that is deleted stays.

        Args:
            line: The line.
            node: The node of a pod without a flavor: what its GPUs cost, the node's flavors say.
        """
        if line.kind not in BY_NODE:
            return line._replace(price=self._price_of(line.flavor, line.price))
        found = self._priced_by(node)
        if found is None:
            return line
        return line._replace(flavor=found.metadata.name, price=gpu_price(found))

    def _of_node(
        self, kind: kinds.Kind, item: GPUWorkload | VLLMRun | None, pod: Pod
    ) -> tuple[LineKey, bool]:
        node, namespace = node_of(pod), meta_of(pod.metadata).namespace
        users = (user for user in self.users if user.namespace == namespace)
        team = next((user.spec.team for user in users), "")
        line = LineKey(item.spec.owner if item else "", kind.name, team=team)
        return self.priced(line, node), item is not None and self._priced_by(node) is not None

    def _priced_by(self, node: str) -> Flavor | None:
        facts = self.nodes.get(Key("", node))
        return priced_by(facts, self.flavors) if facts else None

    def _has(self, flavor: str) -> bool:
        return not flavor or self.flavors.get(Key("", flavor)) is not None

    def _price_of(self, flavor: str, otherwise: Price) -> Price:
        found = self.flavors.get(Key("", flavor)) if flavor else None
        return found.price if found else otherwise

    def _of_server(self, server: Server | None, name: str, uid: str, flavor: str) -> LineKey:
        owner = server.spec.owner if server else ""
        team = (server.spec.team or "") if server else ""
        price = self._price_of(flavor, NO_PRICE)
        return LineKey(owner, kinds.DEVSERVER.name, name, uid, flavor, team, price)


def all_gpus_of(pod: Pod) -> int:
    """The GPUs of a pod: those that it requests, and those of a run's claim."""
    claimed = notes_of(pod).get(GPUS, "") if labels_of(pod).get(RUN) else ""
    return gpus_of(pod) + int(claimed or 0)


def started_at(pod: Pod) -> int | None:
    """When a pod's node began with it; None if it has not."""
    return _seconds(pod.status.startTime if pod.status else None)


def finished_at(pod: Pod) -> int | None:
    """When a pod's last container ended, by its node's clock; None if that is not known."""
    states = [status.state for status in own_statuses(pod)]
    ends = [state.terminated.finishedAt if state and state.terminated else None for state in states]
    found = [_seconds(end) for end in ends]
    return max((end for end in found if end is not None), default=None) if all(found) else None


def created_at(pod: Pod) -> int:
    """When a pod was created, by the API server's clock."""
    return _seconds(meta_of(pod.metadata).creation_timestamp) or 0


def stop_of(server: Server) -> Stop | None:
    """The stop for idleness after which a server has not been started again."""
    if not server.spec.stopped or server.going or server.stopped_by != Idleness.STOPPED:
        return None
    verdicts = (server.status.get("idle") or {}).get("verdicts") or []
    last = verdicts[-1] if verdicts else {}
    if last.get("verdict") != Idleness.STOPPED:
        # Its status is about to say so.
        return None
    at = datetime.fromisoformat(last["at"])
    return Stop(f"{server.metadata.uid}@{last['at']}", int(at.timestamp()))


def idle_since(server: Server) -> str:
    """Since when a server is idle, by its status; empty if it is not."""
    return str((server.status.get("idle") or {}).get("since") or "")


def _seconds(moment: datetime | None) -> int | None:
    return int(moment.timestamp()) if moment else None
