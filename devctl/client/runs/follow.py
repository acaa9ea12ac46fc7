"""A run as it goes on, on all its ranks at once; connections that are lost are made again."""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING, Self

from devctl.client.runs import watch
from devctl.client.runs.events import Ended, Lost, Noticed, Printed
from devctl.client.runs.rank import RankReader
from devctl.errors import DevctlError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    from devctl.client.runs.events import Event
    from devctl.client.runs.place import Place

GRACE = 10.0
"""Seconds in which the others may end by themselves when a rank has failed."""
_TICK = 0.5
_WAITING = 256
"""Pieces of output that wait to be taken; whoever prints more waits, too."""


class Following:
    """What a run prints and what becomes of it, until it has ended on all its ranks.

    with Following(place, "train-1a2b", [0, 1]) as events:
        for event in events:
            ...
    """

    def __init__(
        self,
        place: Place,
        run: str,
        offsets: Mapping[int, int],
        end_others: Callable[[list[int]], object] | None = None,
    ) -> None:
        """Begin to follow.

        Args:
            place: Where the run is.
            run: Its name.
            offsets: The ranks to follow, and from which byte of their output on.
            end_others: Ends a run on some ranks; called when one has failed and they go on.
        """
        self._place = place
        self._end_others = end_others
        self._queue: queue.Queue[Event | DevctlError] = queue.Queue(_WAITING)
        self._over = threading.Event()
        self._open = set(offsets)
        self._leaving: dict[int, str] = {}
        self._gone: dict[int, str] = {}
        self._failed_at: float | None = None
        self._readers = {
            rank: RankReader(place, run, rank, offset, self._put, self._verdict)
            for rank, offset in offsets.items()
        }
        for reader in self._readers.values():
            threading.Thread(target=reader.run, daemon=True).start()
        watcher = (place, self._leaves, self._is_gone, self._over.is_set)
        threading.Thread(target=watch.watch_pods, args=watcher, daemon=True).start()

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Follow no longer; the run itself goes on."""
        self._over.set()
        for reader in self._readers.values():
            reader.close()

    def __iter__(self) -> Iterator[Event]:
        """Everything that happens.

        Raises:
            DevctlError: It cannot be followed any longer.
        """
        looked = time.monotonic()
        while self._open:
            if time.monotonic() - looked > _TICK:
                looked = time.monotonic()
                self._look_after()
            try:
                event = self._queue.get(timeout=_TICK)
            except queue.Empty:
                continue
            if isinstance(event, DevctlError):
                raise event
            if isinstance(event, Ended | Lost):
                if event.rank not in self._open:
                    continue
                self._open.discard(event.rank)
                if isinstance(event, Lost) or event.code:
                    self._failed_at = self._failed_at or time.monotonic()
            elif isinstance(event, Printed) and event.rank not in self._open:
                continue
            yield event

    def _look_after(self) -> None:
        """See that nobody is waited for in vain."""
        for reader in self._readers.values():
            reader.wake()
        failed, end = self._failed_at, self._end_others
        if failed and end and self._open and time.monotonic() - failed > GRACE:
            self._end_others = None
            threading.Thread(target=end, args=(sorted(self._open),), daemon=True).start()

    def _leaves(self, rank: int, why: str) -> None:
        if rank not in self._leaving:
            self._leaving[rank] = why
            self._put(Noticed(rank, why))

    def _is_gone(self, rank: int, why: str) -> None:
        if rank not in self._gone and rank in self._readers:
            self._gone[rank] = why
            # What it has printed to the end may be on its way.
            self._readers[rank].gone()

    def _verdict(self, rank: int) -> str:
        """What is known to have become of a rank's pod; empty where it is well."""
        return self._gone.get(rank) or self._leaving.get(rank) or ""

    def _put(self, event: Event | DevctlError) -> None:
        while not self._over.is_set():
            try:
                self._queue.put(event, timeout=_TICK)
            except queue.Full:
                continue
            return
