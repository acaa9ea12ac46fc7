"""Waiting: for one object to change, and for work on several replicas to finish."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Generic, TypeVar

from devctl.api.devserver import Phase
from devctl.api.workloads import PREEMPTED
from devctl.errors import (
    AlreadyExistsError,
    DeniedError,
    DevctlError,
    NotFoundError,
    UsageError,
    WaitTimeoutError,
)
from devctl.kube import resources
from devctl.kube.failures import NO_SUCH_KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from devctl.client.objects import Named
    from devctl.client.servers import Server
    from devctl.kube.cluster import Cluster, Object
    from devctl.kube.resources import Kind

_T = TypeVar("_T")

_WINDOW = 10.0
"""Seconds after which a watch is renewed, so that a lost connection is noticed."""
_RETRY = 1.0
"""Seconds before an API server that failed is asked again."""
_PATIENCE = 10.0
"""Seconds for which a server may report a failure: some pass by themselves."""
_POLL = 0.5


def changes(cluster: Cluster, kind: Kind, name: str, seconds: float, gone: str) -> Iterator[Object]:
    """An object now and after each change, for some seconds or until the connection is lost.

    Raises:
        NotFoundError: It was deleted meanwhile; `gone` is its fix.
        DeniedError: The user may not read it.
    """
    until = time.monotonic() + seconds
    last: Object | None = None
    try:
        yield (last := cluster.get(kind, name))
        for change in cluster.watch(kind, name=name, seconds=seconds):
            if change.type == "DELETED":
                break
            # A watch starts with the current object, which is known already.
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


def follow(
    cluster: Cluster, kind: Kind, name: str, seconds: float | None, gone: str
) -> Iterator[Object]:
    """The same at least once, for as long as `seconds` lasts; None means forever."""
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        window = _WINDOW if until is None else max(0.0, min(_WINDOW, until - time.monotonic()))
        yield from changes(cluster, kind, name, window, gone)
        if until is not None and time.monotonic() >= until:
            return


def pod_changes(
    cluster: Cluster,
    names: Collection[str],
    labels: Mapping[str, str] | None = None,
    over: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[str, Object | None]]:
    """Pods now and as they change, until it is over or forbidden; None for one that is gone.

    A single pod without labels takes only the rights to get and watch pods, and not to list them.
    """
    only = None if labels else next(iter(names))
    while not over():
        try:
            # A watch does not report what was deleted before it started.
            pods = cluster.list(resources.Pod, labels=labels) if labels else []
            present = {str(pod["metadata"]["name"]): pod for pod in pods}
            for name in names:
                yield name, cluster.find(resources.Pod, name) if only else present.get(name)
            for change in cluster.watch(resources.Pod, name=only, labels=labels):
                if over():
                    return
                name = str(change.object["metadata"]["name"])
                if name in names:
                    yield name, None if change.type == "DELETED" else change.object
        except DeniedError:
            return
        except DevctlError:
            time.sleep(_RETRY)


def wait_ready(
    name: str, states: Iterable[Server], seconds: float | None, progress: Callable[[Server], None]
) -> Server:
    """Wait until all pods of a server are ready; `states` ends after `seconds`, None means never.

    Raises:
        WaitTimeoutError: They are not ready in time; says why.
        DevctlError: They never will be unless somebody changes something.
    """
    failed_since: float | None = None
    last: Server | None = None
    for last in states:
        progress(last)
        if last.stopped:
            cause = f": {last.message}" if last.reason == PREEMPTED else ""
            fix = f"start it with `devctl start {name}`"
            raise DevctlError(f"`{name}` is stopped{cause}", fix)
        if last.ready and last.seen:
            return last
        now = time.monotonic()
        if last.phase is not Phase.FAILED or not last.seen:
            failed_since = None
        elif failed_since is None:
            failed_since = now
        elif now - failed_since >= _PATIENCE:
            raise DevctlError(f"`{name}` cannot run: {why(last)}", _look(name))
    raise WaitTimeoutError(
        f"`{name}` is not ready after {seconds or 0:.0f} s{_state(last)}",
        f"it keeps starting: {_look(name)}; `devctl delete {name}` cancels it",
    )


def wait_stopped(
    name: str, states: Iterable[Server], seconds: float | None, progress: Callable[[Server], None]
) -> Server:
    """Wait until all pods of a server are gone; `states` ends after `seconds`.

    Raises:
        WaitTimeoutError: They are not gone in time; says why.
        DevctlError: Somebody has started it meanwhile.
    """
    last: Server | None = None
    for last in states:
        progress(last)
        if not last.stopped:
            raise DevctlError(
                f"`{name}` was started meanwhile", f"stop it again with `devctl stop {name}`"
            )
        if last.phase is Phase.STOPPED and last.seen:
            return last
    raise WaitTimeoutError(
        f"`{name}` has not stopped after {seconds or 0:.0f} s{_state(last)}",
        f"it keeps stopping: {_look(name)}",
    )


def wait_gone(  # noqa: PLR0913, PLR0917 - what, how long, and what to say
    name: str,
    uid: str,
    find: Callable[[], Named | None],
    remains: Callable[[], str],
    seconds: float | None,
    kept: str,
    progress: Callable[[str], None] = lambda _text: None,
) -> None:
    """Wait until a deleted object and its pods are gone.

    `find` looks up its name, `remains` says which of its pods still exist, if any, and `kept` is
    what a person should know after a timeout.

    Raises:
        WaitTimeoutError: Some still exist.
        AlreadyExistsError: There is a new object of that name.
    """
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        found = find()
        if found and found.uid != uid:
            raise AlreadyExistsError(
                f"`{name}` was recreated meanwhile, and is left alone",
                "repeat the command if you mean the new one",
            )
        state = remains() or ("it still exists" if found else "")
        if not state:
            return
        progress(state)
        if until is not None and time.monotonic() >= until:
            raise WaitTimeoutError(
                f"`{name}` is not gone after {seconds or 0:.0f} s: {state}",
                f"deletion continues; {kept}",
            )
        time.sleep(_POLL)


def why(server: Server) -> str:
    """Why a server is in its phase."""
    if not server.reason:
        return "the operator has not looked at it yet; check with `devctl doctor` whether it runs"
    return f"{server.reason}: {server.message}" if server.message else server.reason


def _state(last: Server | None) -> str:
    return f" ({last.phase}): {why(last)}" if last else ""


def _look(name: str) -> str:
    return f"look with `devctl describe {name}`"


class OnEvery(Generic[_T]):
    """Work on several replicas at once, in a daemon thread each.

    Daemon threads let the process exit: Ctrl-C does not wait for a pod that does not answer.
    """

    def __init__(
        self, replicas: Iterable[int], work: Callable[[int], _T], at_once: int | None = None
    ) -> None:
        """Start at once, on at most `at_once` replicas at a time."""
        self._work = work
        self._room = threading.Semaphore(at_once) if at_once else nullcontext()
        self.done: dict[int, _T] = {}
        self.failed: dict[int, Exception] = {}
        self._threads = [
            threading.Thread(target=self._run, args=(replica,), daemon=True) for replica in replicas
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all have finished or failed, or the time is up."""
        until = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))

    def results(self) -> dict[int, _T]:
        """What the work returned for each replica; raises the first failure, by replica."""
        self.wait()
        if self.failed:
            raise self.failed[min(self.failed)]
        return self.done

    def _run(self, replica: int) -> None:
        try:
            with self._room:
                self.done[replica] = self._work(replica)
        except Exception as error:  # noqa: BLE001 - raised by results()
            self.failed[replica] = error


def on_every(
    replicas: Iterable[int], work: Callable[[int], _T], at_once: int | None = None
) -> dict[int, _T]:
    """What work on each replica returned; see OnEvery."""
    return OnEvery(replicas, work, at_once).results()
