"""Objects as they change, until something is true of them or the time is over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from devctl.api.devserver import Phase
from devctl.client.server import Server
from devctl.errors import (
    DeniedError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from devctl.kube import resources
from devctl.kube.failures import NO_SUCH_KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.kube.cluster import Cluster, Object

_WINDOW = 10.0
"""Seconds of silence after which a watch is begun anew, so that a lost connection is noticed."""
_RETRY = 1.0
"""Seconds after which an API server that stumbles is asked again."""
_PATIENCE = 10.0
"""Seconds for which a server may be said to fail: some failures pass by themselves."""


def changes(cluster: Cluster, kind: Any, name: str, seconds: float, gone: str) -> Iterator[Object]:
    """An object as it is and as it changes, for some seconds or until the connection is lost.

    Args:
        cluster: Where it is.
        kind: What it is.
        name: Its name.
        seconds: How long.
        gone: What to do where it is deleted meanwhile.

    Raises:
        NotFoundError: It was deleted meanwhile.
        DeniedError: The user may not look at it, or no longer.
    """
    until = time.monotonic() + seconds
    last: Object | None = None
    try:
        yield (last := cluster.get(kind, name))
        for change in cluster.watch(kind, name=name, seconds=seconds):
            if change.type == "DELETED":
                break
            # A watch begins with what is there, which is known already.
            if change.object != last:
                yield (last := change.object)
        else:
            return
    except NotFoundError as error:
        if error.reason == NO_SUCH_KIND:
            raise
    except (DeniedError, UsageError):
        raise
    except DevctlError:
        time.sleep(max(0.0, min(_RETRY, until - time.monotonic())))
        return
    raise NotFoundError(f"`{name}` was deleted while it was waited for", gone)


def follow(cluster: Cluster, name: str, seconds: float | None) -> Iterator[Server]:
    """A server as it is and at each change, until the time is over.

    Args:
        cluster: Where it is.
        name: Its name.
        seconds: How long at most; None for ever.
    """
    until = None if seconds is None else time.monotonic() + seconds
    gone = "its files are kept: `devctl homes list`"
    first = True
    while first or until is None or time.monotonic() < until:
        first = False
        window = _WINDOW if until is None else max(0.0, min(_WINDOW, until - time.monotonic()))
        yield from map(Server, changes(cluster, resources.DevServer, name, window, gone))


def wait_ready(
    cluster: Cluster, name: str, seconds: float | None, progress: Callable[[Server], None]
) -> Server:
    """Wait until all pods of a server can be used.

    Raises:
        WaitTimeoutError: They cannot, in time; with the reason.
        DevctlError: They never will before somebody changes something.
    """
    failed_since: float | None = None
    last: Server | None = None
    for server in follow(cluster, name, seconds):
        progress(server)
        last = server
        if server.stopped:
            raise DevctlError(f"`{name}` is stopped", f"start it with `devctl start {name}`")
        if server.ready and server.seen:
            return server
        now = time.monotonic()
        if server.phase is not Phase.FAILED or not server.seen:
            failed_since = None
        elif failed_since is None:
            failed_since = now
        elif now - failed_since >= _PATIENCE:
            raise DevctlError(f"`{name}` cannot run: {why(server)}", _look(name))
    state = f" ({last.phase}): {why(last)}" if last else ""
    raise WaitTimeoutError(
        f"`{name}` is not ready after {seconds or 0:.0f} s{state}",
        f"it keeps starting: {_look(name)}; `devctl delete {name}` cancels it",
    )


def wait_stopped(
    cluster: Cluster, name: str, seconds: float | None, progress: Callable[[Server], None]
) -> Server:
    """Wait until a server has no pods any more.

    Raises:
        WaitTimeoutError: It still has, in time.
        DevctlError: Somebody has started it meanwhile.
    """
    last: Server | None = None
    for server in follow(cluster, name, seconds):
        progress(server)
        last = server
        if not server.stopped:
            raise DevctlError(
                f"`{name}` was started meanwhile", f"stop it again with `devctl stop {name}`"
            )
        if server.phase is Phase.STOPPED and server.seen:
            return server
    state = f" ({last.phase}): {why(last)}" if last else ""
    raise WaitTimeoutError(
        f"`{name}` has not stopped after {seconds or 0:.0f} s{state}",
        f"it keeps stopping: {_look(name)}",
    )


def why(server: Server) -> str:
    """Why a server is in its phase."""
    if not server.reason:
        return "nobody has looked at it yet; see with `devctl doctor` whether the operator runs"
    return f"{server.reason}: {server.message}" if server.message else server.reason


def _look(name: str) -> str:
    return f"look with `devctl describe {name}`"
