"""Why a server waits in its team's queue: its place, what is short, who holds it, how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.api import workloads
from devctl.api.conditions import find
from devctl.api.messages import listed
from devctl.api.queues import local_queue
from devctl.client.flavors import Flavors
from devctl.client.objects import moment
from devctl.client.queues.team_quota import team_quotas
from devctl.errors import DeniedError, DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.cluster import EVERYWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from devctl.api.workloads import Shortage
    from devctl.client.flavors import Flavor
    from devctl.client.queues.team_quota import TeamQuota
    from devctl.client.servers import Server
    from devctl.kube.cluster import Cluster, Object

_VISIBILITY = "apis/visibility.kueue.x-k8s.io/v1beta2"
_NOBODY_SEEN = "you may not see the servers that hold the quota"


@dataclass(frozen=True)
class Holder:
    """A server that uses the quota that another one waits for."""

    namespace: str
    name: str
    pods: int
    expires_at: datetime | None = None
    """When it is deleted; None for never, or if that may not be seen."""
    mine: bool = False
    """Whether it is in the namespace of the one that waits."""

    def __str__(self) -> str:
        """For messages."""
        return f"`{self.name}`" if self.mine else f"`{self.namespace}/{self.name}`"


@dataclass(frozen=True)
class Waiting:
    """Why a server waits. What the user may not see is None or missing."""

    server: str
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
    """Servers that use the quota, soonest to expire first."""
    unseen: int = 0
    """Pods of the team that hold quota, of servers that the user may not see."""
    fits: Sequence[str] = ()
    """Flavors that would start it now."""
    estimate: datetime | None = None
    """When it can start at the latest, if nobody stops anything earlier."""
    basis: str = ""
    """What the estimate is based on, or why there is none."""


def waiting_for(cluster: Cluster, server: Server) -> Waiting | None:
    """Why a server waits in a queue; None if it does not."""
    if server.reason != workloads.QUEUED or server.stopped:
        return None
    own = _workloads(cluster, server.namespace)
    mine = next((each for each in own if _owner(each) == server.name), None)
    queue = str(((mine or {}).get("spec") or {}).get("queueName") or local_queue(server.flavor))
    flavors = _flavors(cluster)
    quotas = team_quotas(cluster, flavors, server.namespace) or []
    quota = next((each for each in quotas if each.queue == queue), None)
    said = find((mine or {}).get("status") or {}, workloads.QUOTA_RESERVED)
    message = str(said.get("message", ""))
    place, ahead = _place(cluster, server, queue, mine)
    everyone = _workloads(cluster, EVERYWHERE) or own
    holders = _holders(cluster, server, everyone, quota)
    needed = max(1, server.size - quota.free) if quota else server.size
    estimate, basis = _estimate(holders, needed, ahead)
    return Waiting(
        server=server.name,
        team=quota.team if quota else str(server.spec.get("team") or ""),
        flavor=quota.flavor if quota else server.flavor,
        queue=queue,
        why=workloads.why(message) if message else server.message,
        short=workloads.shortages(message),
        place=place,
        quota=quota,
        holders=holders,
        unseen=max(0, quota.used - sum(holder.pods for holder in holders)) if quota else 0,
        fits=_fitting(flavors, quotas, server.size, quota),
        estimate=estimate,
        basis=basis,
    )


def _workloads(cluster: Cluster, namespace: str) -> list[Object]:
    try:
        return list(cluster.list(resources.Workload, namespace))
    except (DeniedError, NotFoundError):
        return []


def _flavors(cluster: Cluster) -> Sequence[Flavor]:
    try:
        return Flavors(cluster).list()
    except DeniedError:
        return ()


def _owner(workload: Object) -> str:
    """The server of a Workload; empty if something else owns it."""
    owners = workload["metadata"].get("ownerReferences") or []
    return next((str(each["name"]) for each in owners if each["kind"] == "StatefulSet"), "")


def _place(
    cluster: Cluster, server: Server, queue: str, mine: Object | None
) -> tuple[int | None, int | None]:
    """The place of a server in its team's queue, and how many are ahead of it."""
    path = f"{_VISIBILITY}/namespaces/{server.namespace}/localqueues/{queue}/pendingworkloads"
    try:
        found: list[dict[str, Any]] = cluster.read(path, once=True).json().get("items") or []
    except DevctlError:
        # Kueue is down, or the user may not ask.
        return None, None
    name = mine["metadata"]["name"] if mine else ""
    for item in found:
        if item["metadata"]["name"] == name or _owner(item) == server.name:
            ahead = int(item.get("positionInClusterQueue") or 0)
            return ahead + 1, ahead
    return None, None


def _holders(
    cluster: Cluster, server: Server, everyone: Iterable[Object], quota: TeamQuota | None
) -> Sequence[Holder]:
    """Who has quota of the same team and flavor, soonest to expire first."""
    if quota is None:
        return ()
    found = []
    expiries = _expiries(cluster, server.namespace)
    for workload in everyone:
        admission = (workload.get("status") or {}).get("admission") or {}
        name, space = _owner(workload), str(workload["metadata"]["namespace"])
        if admission.get("clusterQueue") != quota.name or not name:
            continue
        pods = sum(int(each.get("count") or 0) for each in workload["spec"].get("podSets") or [])
        expires = expiries.get((space, name))
        found.append(Holder(space, name, pods, expires, mine=space == server.namespace))
    return sorted(found, key=lambda each: (each.expires_at is None, each.expires_at, each.name))


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
        servers = "a server is" if ahead == 1 else f"{ahead} servers are"
        return None, f"no estimate: {servers} ahead of it"
    used: list[str] = []
    for holder in holders:
        if holder.expires_at is None:
            break
        used.append(str(holder))
        needed -= holder.pods
        if needed <= 0:
            return holder.expires_at, f"based on when {listed(used)} will be deleted (--ttl)"
    return None, "no estimate: too few of the servers that hold the quota have a time to live"


def _fitting(
    flavors: Iterable[Flavor], quotas: Iterable[TeamQuota], size: int, mine: TeamQuota | None
) -> Sequence[str]:
    """Flavors that a whole server can change to: with quota of the team, and nodes."""
    free = {flavor.name: flavor.free for flavor in flavors if not flavor.cordoned}
    return [
        quota.flavor
        for quota in quotas
        if quota != mine and quota.free >= size and (free.get(quota.flavor) or 0) >= size
    ]
