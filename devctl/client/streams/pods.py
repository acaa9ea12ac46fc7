"""The pods of a server: the one in which something is to run, and what has become of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.api.devserver import Phase
from devctl.api.labels import DEVSERVER
from devctl.client.manifests import check_name
from devctl.client.servers import Servers
from devctl.errors import DevctlError, NotFoundError, UsageError
from devctl.kube import resources
from devctl.kube.failures import one_line
from devctl.kube.pod_streams import CONTAINER

if TYPE_CHECKING:
    from devctl.client.servers import Server
    from devctl.kube.cluster import Cluster, Object


def running_pod(cluster: Cluster, name: str, replica: int = 0) -> Object:
    """The running pod of a server's replica, from 0; one request if all is well.

    NotFoundError if there is no such server or replica, DevctlError, which says why, if it is down.
    """
    check_name(name)
    if replica < 0:
        raise UsageError(f"there is no replica {replica}", "replicas count from 0")
    pod = cluster.find(resources.Pod, f"{name}-{replica}") or {}
    # Anybody may call a pod of theirs `lab-0`: its label tells.
    labels = (pod.get("metadata") or {}).get("labels") or {}
    if labels.get(DEVSERVER) == name and container_state(pod) == "running":
        return pod
    raise _explained(Servers(cluster).get(name), replica)


def container_state(pod: Object) -> str:
    """The state of the server's container in a pod: `waiting`, `running` or `terminated`."""
    state = container_status(pod).get("state")
    if state is None and (pod.get("status") or {}).get("phase") == "Running":
        return "running"
    return next(iter(state or {}), "waiting")


def container_status(pod: Object) -> Object:
    """The kubelet's status of the server's container; empty before there is one."""
    statuses: list[Object] = (pod.get("status") or {}).get("containerStatuses") or []
    return next((each for each in statuses if each.get("name") == CONTAINER), {})


def fate(before: Object, now: Object | None) -> str:
    """What has become of a pod and its container since; empty if they are unchanged."""
    name = before["metadata"]["name"]
    if now is None:
        return f"pod `{name}` was deleted"
    if now["metadata"].get("uid") != before["metadata"].get("uid"):
        return f"pod `{name}` was deleted and recreated"
    status = now.get("status") or {}
    container = container_status(now)
    if status.get("phase") in {"Failed", "Succeeded"}:
        why = status.get("message") or status.get("reason") or _end(container, "no reason given")
        return f"pod `{name}` has ended: {one_line(str(why))}"
    same = container.get("containerID") == container_status(before).get("containerID")
    if same and "terminated" not in (container.get("state") or {}):
        return ""
    return f"the container of pod `{name}` has ended: {_end(container, 'it was restarted')}"


def _end(container: Object, unknown: str) -> str:
    states = (container.get("state") or {}, container.get("lastState") or {})
    ended = next((each["terminated"] for each in states if each.get("terminated")), None)
    if not ended:
        return unknown
    if ended.get("reason") == "OOMKilled":
        return "it ran out of memory"
    return one_line(str(ended.get("message") or f"exit code {ended.get('exitCode')}"))


def _explained(server: Server, replica: int) -> DevctlError:
    name, count = server.name, server.size
    if replica >= count:
        which = "one replica, 0" if count == 1 else f"{count} replicas, 0 to {count - 1}"
        return NotFoundError(
            f"server `{name}` has no replica {replica}: it has {which}",
            "choose one of them with --replica",
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
    """Phase, reason and message of a replica; the server's own if it has none."""
    for each in server.replicas:
        if each.ordinal == replica and each.phase is not Phase.RUNNING:
            return each.phase, each.reason, each.message
    if server.phase is Phase.RUNNING:
        # The observer has not seen yet what the API server has just said.
        return Phase.STARTING, "", ""
    return server.phase, server.reason, server.message
