"""What the pods of a GPU workload have printed: one pod after another, or all as it arrives."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from devctl.errors import DevctlError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from devctl.kube.cluster import Cluster

_WAITING = 256
"""Pieces that wait for whoever reads them; readers of pods wait while there are as many."""
_TICK = 0.5


class Output(NamedTuple):
    """Some of what a pod of an attempt has printed."""

    attempt: int
    rank: int
    """Which of its pods; 0 if it has only one."""
    data: bytes


def read(
    cluster: Cluster, pods: Mapping[int, str], *, follow: bool, tail: int | None
) -> Iterator[tuple[int, bytes]]:
    """What pods print, each piece with its rank; of each, at most the last `tail` lines so far.

    Args:
        cluster: Where they are.
        pods: Their names, by rank.
        follow: Whether to continue until all have ended.
        tail: How many lines, or None for all.
    """
    if follow and len(pods) > 1:

        def source(name: str) -> Callable[[], Iterator[bytes]]:
            return lambda: cluster.log(name, follow=True, tail=tail)

        yield from merged({rank: source(name) for rank, name in pods.items()})
        return
    for rank, name in sorted(pods.items()):
        for data in cluster.log(name, follow=follow, tail=tail):
            yield rank, data


def merged(sources: Mapping[int, Callable[[], Iterator[bytes]]]) -> Iterator[tuple[int, bytes]]:
    """The pieces of several sources as they arrive, until all have ended.

    Raises:
        DevctlError: One of them cannot be read.
    """
    arrivals = _Arrivals()
    for rank, source in sources.items():
        threading.Thread(target=arrivals.read, args=(rank, source), daemon=True).start()
    going = len(sources)
    try:
        while going:
            rank, what = arrivals.queue.get()
            if isinstance(what, DevctlError):
                raise what
            if what is None:
                going -= 1
            else:
                yield rank, what
    finally:
        arrivals.over.set()


class _Arrivals:
    """What several threads read, until whoever wants it wants no more."""

    def __init__(self) -> None:
        self.queue: queue.Queue[tuple[int, bytes | DevctlError | None]] = queue.Queue(_WAITING)
        """Pieces with their rank, an error, or None at the end of a source."""
        self.over = threading.Event()

    def read(self, rank: int, source: Callable[[], Iterator[bytes]]) -> None:
        """Read a source to its end."""
        try:
            for data in source():
                self._put(rank, data)
                if self.over.is_set():
                    return
        except NotFoundError:
            # Once one pod fails, Kubernetes deletes the others.
            pass
        except DevctlError as error:
            self._put(rank, error)
        finally:
            self._put(rank, None)

    def _put(self, rank: int, what: bytes | DevctlError | None) -> None:
        while not self.over.is_set():
            with suppress(queue.Full):
                self.queue.put((rank, what), timeout=_TICK)
                return
