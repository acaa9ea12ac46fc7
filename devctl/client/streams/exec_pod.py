"""The pod of a server in which something is to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.devserver import Phase
from devctl.api.labels import DEVSERVER
from devctl.client.manifests import check_name
from devctl.client.servers import Servers
from devctl.errors import DevctlError, NotFoundError, UsageError
from devctl.kube import resources
from devctl.kube.exec_stream import CONTAINER

if TYPE_CHECKING:
    from devctl.client.servers import Server
    from devctl.kube.cluster import Cluster, Object


def running_pod(cluster: Cluster, name: str, replica: int = 0) -> Object:
    """A replica's pod whose container runs; one request where all is well.

    Args:
        cluster: Where the server is.
        name: The server.
        replica: Which of its pods, from 0.

    Raises:
        NotFoundError: There is no such server, or no such replica of it.
        DevctlError: It does not run now; says why.
    """
    check_name(name)
    if replica < 0:
        raise UsageError(f"there is no replica {replica}", "replicas count from 0")
    try:
        pod = cluster.get(resources.Pod, f"{name}-{replica}")
    except NotFoundError:
        pod = {}
    if _is_of(pod, name) and container_state(pod) == "running":
        return pod
    raise _explained(Servers(cluster).get(name), replica)


def container_state(pod: Object) -> str:
    """What the server's container in a pod does: `waiting`, `running` or `terminated`."""
    state = container_status(pod).get("state")
    if state is None and (pod.get("status") or {}).get("phase") == "Running":
        return "running"
    return next(iter(state or {}), "waiting")


def container_status(pod: Object) -> Object:
    """What the kubelet says of the server's container; empty before it has said anything."""
    statuses: list[Object] = (pod.get("status") or {}).get("containerStatuses") or []
    return next((each for each in statuses if each.get("name") == CONTAINER), {})


def _is_of(pod: Object, server: str) -> bool:
    """Whether a pod belongs to the server: anybody may call a pod of theirs `lab-0`."""
    labels = (pod.get("metadata") or {}).get("labels") or {}
    return bool(labels.get(DEVSERVER) == server)


def _explained(server: Server, replica: int) -> DevctlError:
    name, count = server.name, server.size
    if replica >= count:
        which = "one replica, 0" if count == 1 else f"{count} replicas, 0 to {count - 1}"
        return NotFoundError(
            f"server `{name}` has no replica {replica}: it has {which}",
            "name one of them with --replica",
        )
    if server.stopped:
        return DevctlError(f"server `{name}` is stopped", f"start it with `devctl start {name}`")
    phase, reason, message = _state(server, replica)
    why = f" ({reason})" if reason else ""
    detail = f": {message}" if message else ""
    return DevctlError(
        f"replica {replica} of server `{name}` does not run: {phase}{why}{detail}",
        f"see what it waits for with `devctl status {name} --watch`",
    )


def _state(server: Server, replica: int) -> tuple[str, str, str]:
    """Phase, reason and message of a replica; the server's own where nothing is said of it."""
    for each in server.replicas:
        if each.ordinal == replica and each.phase is not Phase.RUNNING:
            return each.phase, each.reason, each.message
    if server.phase is Phase.RUNNING:
        # The observer has not seen yet what the API server has just said.
        return Phase.STARTING, "", ""
    return server.phase, server.reason, server.message
