"""Why a server, job or GPU workload waits in its queue: its place, what is short, who holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api import workloads
from devctl.api.conditions import find
from devctl.api.ephemeral_acceleration_job import job_of_pod
from devctl.api.gpu_workload import workload_of_job
from devctl.api.messages import listed
from devctl.api.quantities import parse_quantity
from devctl.api.queues import local_queue
from devctl.client.objects import moment
from devctl.client.queues.team_quota import known_flavors, pods_in, requests_of, team_quotas
from devctl.errors import DeniedError, DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.cluster import EVERYWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from devctl.api.workloads import Shortage
    from devctl.client.flavors import Flavor
    from devctl.client.jobs.job import Job
    from devctl.client.queues.team_quota import Amounts, TeamQuota
    from devctl.client.servers import Server
    from devctl.client.workloads.workload import Workload
    from devctl.kube.cluster import Cluster, Object

_VISIBILITY = "apis/visibility.kueue.x-k8s.io/v1beta2"
_NOBODY_SEEN = "you may not see what holds the quota"


@dataclass(frozen=True)
class Holder:
    """A server or job that uses the quota that another one waits for."""

    namespace: str
    name: str
    pods: int
    expires_at: datetime | None = None
    """When it is deleted; None for never, or if that may not be seen."""
    mine: bool = False
    """Whether it is in the namespace of the one that waits."""
    job: bool = False
    """Whether it is a job."""

    def __str__(self) -> str:
        """For messages."""
        name = f"`{self.name}`" if self.mine else f"`{self.namespace}/{self.name}`"
        return f"job {name}" if self.job else name


@dataclass(frozen=True)
class Waiting:
    """Why a server or job waits. What the user may not see is None or missing."""

    name: str
    """The server or job."""
    team: str
    flavor: str
    queue: str
    """The queue in its namespace."""
    why: str
    """What is short, in one sentence."""
    short: Sequence[Shortage] = ()
    place: int | None = None
    """Its place in the team's queue; 1 is next."""
    quota: TeamQuota | None = None
    holders: Sequence[Holder] = ()
    """What uses the quota, soonest to expire first."""
    unseen: int = 0
    """Pods of the team that hold quota, of servers and jobs that the user may not see."""
    fits: Sequence[str] = ()
    """Flavors that would start it now."""
    estimate: datetime | None = None
    """When it can start at the latest, if nobody stops anything earlier."""
    basis: str = ""
    """What the estimate is based on, or why there is none."""


class _Owner(NamedTuple):
    """What owns a Workload."""

    name: str
    job: bool = False
    """Whether it is a job or a GPU workload; otherwise, it is a server."""
    gpu_workload: bool = False
    """Whether it is a GPU workload, which may have the name of a job."""


@dataclass(frozen=True)
class _Seeker:
    """What waits for quota."""

    owner: _Owner
    namespace: str
    team: str
    flavor: str
    message: str
    pods: int = 1
    """How many pods it has."""
    requests: Amounts | None = None
    """What each pod requests; None for as much as its flavor does."""
    queue: str = ""
    """The queue that it names; empty for that of its flavor."""

    def size(self, flavor: Flavor | None) -> int:
        """How many pods of a flavor it counts as."""
        if self.requests is None or flavor is None:
            return self.pods
        return self.pods * max(1, pods_in(self.requests, requests_of(flavor)))

    def fits(self, flavor: Flavor, quota: TeamQuota) -> bool:
        """Whether it could start with the quota of another flavor, and on its nodes."""
        if flavor.cordoned:
            return False
        size, known = self.size(flavor), requests_of(flavor)
        # A pod that counts as several is too large for the flavor's.
        large = size > self.pods
        if self.requests is not None and (large or self.requests.keys() - known.keys()):
            return False
        return quota.free >= size and (flavor.free or 0) >= size


def server_waits(cluster: Cluster, server: Server) -> Waiting | None:
    """Why a server waits in a queue; None if it does not."""
    if server.reason != workloads.QUEUED or server.stopped:
        return None
    owner, team = _Owner(server.name), str(server.spec.get("team") or "")
    where = server.namespace, team, server.flavor, server.message
    return _waiting_for(cluster, _Seeker(owner, *where, pods=server.size))


def job_waits(cluster: Cluster, job: Job) -> Waiting | None:
    """Why a job waits in a queue; None if it does not."""
    flavor, team = job.flavor, str(job.spec.get("team") or "")
    if job.reason != workloads.QUEUED or not flavor or not team:
        return None
    where = job.namespace, team, flavor, job.message
    return _waiting_for(cluster, _Seeker(_Owner(job.name, job=True), *where, requests=job.requests))


def workload_waits(cluster: Cluster, workload: Workload) -> Waiting | None:
    """Why a GPU workload waits in its queue; None if it does not."""
    # One that was preempted is in the queue again.
    waits = workload.reason in {workloads.QUEUED, workloads.PREEMPTED} and not workload.stopped
    if not waits or not workload.queue:
        return None
    owner = _Owner(workload.name, job=True, gpu_workload=True)
    # Which flavor and team a queue belongs to is known only if it is one of ours.
    where = workload.namespace, "", workload.queue.removeprefix(local_queue("")), workload.message
    seeker = _Seeker(owner, *where, workload.nodes, workload.requests, workload.queue)
    return _waiting_for(cluster, seeker)


def _waiting_for(cluster: Cluster, seeker: _Seeker) -> Waiting:
    own = _workloads(cluster, seeker.namespace)
    mine = next((each for each in own if _owner(each) == seeker.owner), None)
    queue = str(((mine or {}).get("spec") or {}).get("queueName") or seeker.queue)
    queue = queue or local_queue(seeker.flavor)
    flavors = {flavor.name: flavor for flavor in known_flavors(cluster)}
    quotas = team_quotas(cluster, flavors.values(), seeker.namespace) or []
    quota = next((each for each in quotas if each.queue == queue), None)
    flavor = flavors.get(quota.flavor if quota else seeker.flavor)
    said = find((mine or {}).get("status") or {}, workloads.QUOTA_RESERVED)
    message = str(said.get("message", ""))
    place, ahead = _place(cluster, seeker, queue, mine)
    everyone = _workloads(cluster, EVERYWHERE) or own
    holders = _holders(cluster, seeker, everyone, quota, flavor)
    size = seeker.size(flavor)
    needed = max(1, size - quota.free) if quota else size
    estimate, basis = _estimate(holders, needed, ahead)
    return Waiting(
        name=seeker.owner.name,
        team=quota.team if quota else seeker.team,
        flavor=quota.flavor if quota else seeker.flavor,
        queue=queue,
        why=workloads.why(message) if message else seeker.message,
        short=workloads.shortages(message),
        place=place,
        quota=quota,
        holders=holders,
        unseen=max(0, quota.used - sum(holder.pods for holder in holders)) if quota else 0,
        fits=[
            other.flavor
            for other in quotas
            if other != quota and seeker.fits(flavors[other.flavor], other)
        ],
        estimate=estimate,
        basis=basis,
    )


def _workloads(cluster: Cluster, namespace: str) -> list[Object]:
    try:
        found = list(cluster.list(resources.Workload, namespace))
    except (DeniedError, NotFoundError):
        return []
    # That of a finished Job stays as long as the Job, and keeps its admission.
    over = (find(each.get("status") or {}, workloads.FINISHED) for each in found)
    return [each for each, said in zip(found, over, strict=True) if said.get("status") != "True"]


def _owner(workload: Object) -> _Owner:
    """The server or job of a Workload; without a name if something else owns it."""
    owners = workload["metadata"].get("ownerReferences") or []
    names = {str(each["kind"]): str(each["name"]) for each in reversed(owners)}
    if server := names.get("StatefulSet"):
        return _Owner(server)
    if workload_name := workload_of_job(names.get("Job", "")):
        return _Owner(workload_name, job=True, gpu_workload=True)
    job = job_of_pod(names.get("Pod", ""))
    return _Owner(job, job=bool(job))


def _place(
    cluster: Cluster, seeker: _Seeker, queue: str, mine: Object | None
) -> tuple[int | None, int | None]:
    """The place in the team's queue, and how many are ahead of it."""
    path = f"{_VISIBILITY}/namespaces/{seeker.namespace}/localqueues/{queue}/pendingworkloads"
    try:
        found: list[dict[str, Any]] = cluster.read(path, once=True).json().get("items") or []
    except DevctlError:
        # Kueue is down, or the user may not ask.
        return None, None
    name = mine["metadata"]["name"] if mine else ""
    for item in found:
        if item["metadata"]["name"] == name or _owner(item) == seeker.owner:
            ahead = int(item.get("positionInClusterQueue") or 0)
            return ahead + 1, ahead
    return None, None


def _holders(
    cluster: Cluster,
    seeker: _Seeker,
    everyone: Iterable[Object],
    quota: TeamQuota | None,
    flavor: Flavor | None,
) -> Sequence[Holder]:
    """Who has quota of the same team and flavor, soonest to expire first."""
    if quota is None:
        return ()
    found = []
    expiries = _expiries(cluster, seeker.namespace)
    for workload in everyone:
        admission = (workload.get("status") or {}).get("admission") or {}
        (name, job, _), space = _owner(workload), str(workload["metadata"]["namespace"])
        if admission.get("clusterQueue") != quota.name or not name:
            continue
        pods = _size(workload, flavor if job else None)
        expires = None if job else expiries.get((space, name))
        mine = space == seeker.namespace
        found.append(Holder(space, name, pods, expires, mine=mine, job=job))
    return sorted(found, key=lambda each: (each.expires_at is None, each.expires_at, each.name))


def _size(workload: Object, flavor: Flavor | None) -> int:
    """The pods of an admitted Workload; with a flavor, as how many of its pods they count."""
    if flavor is None:
        return sum(int(each.get("count") or 0) for each in workload["spec"].get("podSets") or [])
    assigned = workload["status"]["admission"].get("podSetAssignments") or []
    used = [item for each in assigned for item in (each.get("resourceUsage") or {}).items()]
    amounts = {str(name): parse_quantity(amount) for name, amount in used}
    return max(1, pods_in(amounts, requests_of(flavor)))


def _expiries(cluster: Cluster, namespace: str) -> dict[tuple[str, str], datetime | None]:
    for where in (EVERYWHERE, namespace):
        try:
            found = list(cluster.list(resources.DevServer, where))
        except DeniedError:
            continue
        return {
            (each["metadata"]["namespace"], each["metadata"]["name"]): moment(
                (each.get("status") or {}).get("expiresAt")
            )
            for each in found
        }
    return {}


def _estimate(
    holders: Sequence[Holder], needed: int, ahead: int | None
) -> tuple[datetime | None, str]:
    """When enough pods are free at the latest, and what that is based on."""
    if not holders:
        return None, f"no estimate: {_NOBODY_SEEN}"
    if ahead is None:
        return None, "no estimate: its place in the queue is not known"
    if ahead:
        others = "another one is" if ahead == 1 else f"{ahead} are"
        return None, f"no estimate: {others} ahead of it"
    used: list[str] = []
    for holder in holders:
        if holder.expires_at is None:
            break
        used.append(str(holder))
        needed -= holder.pods
        if needed <= 0:
            return holder.expires_at, f"based on when {listed(used)} will be deleted (--ttl)"
    return None, "no estimate: too little of the quota is held by servers with a time to live"
