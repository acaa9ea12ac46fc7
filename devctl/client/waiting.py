"""Waiting: for one object to change, and for work on several replicas to finish."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

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
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping

    from devctl.api.kinds import Kind
    from devctl.client.objects import Named
    from devctl.kube.cluster import Cluster, Object

_T = TypeVar("_T")
_F = TypeVar("_F", bound="Ends")

_WINDOW = 10.0
"""Seconds after which a watch is renewed, so that a lost connection is noticed."""
_RETRY = 1.0
"""Seconds before an API server that failed is asked again."""
_POLL = 0.5


class Ends(Protocol):
    """Something that runs to an end."""

    @property
    def uid(self) -> str:
        """Which one of its name it is."""

    @property
    def finished(self) -> bool:
        """Whether it has ended."""


def ignore(_state: object) -> None:
    """Discard progress."""


def follow(
    cluster: Cluster, kind: Kind, name: str, seconds: float | None, gone: str
) -> Iterator[Object]:
    """An object now, and after each change for `seconds`; None means forever.

    Raises:
        NotFoundError: It was deleted meanwhile; `gone` is its fix.
        DeniedError: The user may not read it.
    """
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        window = _WINDOW if until is None else max(0.0, min(_WINDOW, until - time.monotonic()))
        yield from _changes(cluster, kind, name, window, gone)
        if until is not None and time.monotonic() >= until:
            return


def _changes(
    cluster: Cluster, kind: Kind, name: str, seconds: float, gone: str
) -> Iterator[Object]:
    """The same, once, for some seconds or until the connection is lost."""
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


def to_its_end(changes: Iterable[_F], name: str, gone: str) -> Generator[_F, None, _F | None]:
    """Changes of one object until it has finished; returns the last one, None without any.

    Raises:
        NotFoundError: Another one took its name; `gone` is its fix.
    """
    last: _F | None = None
    for found in changes:
        if last and found.uid != last.uid:
            raise NotFoundError(f"`{name}` was recreated while it was waited for", gone)
        last = found
        yield found
        if found.finished:
            break
    return last


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


def wait_gone(  # noqa: PLR0913, PLR0917 - what, how long, and what to say
    name: str,
    uid: str,
    find: Callable[[], Named | None],
    remains: Callable[[], str],
    seconds: float | None,
    kept: str,
    progress: Callable[[str], None] = ignore,
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
