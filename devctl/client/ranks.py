"""The same on several ranks at once."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_T = TypeVar("_T")


class OnEvery(Generic[_T]):
    """Work that goes on for each of some ranks, in a thread each.

    Threads do not keep this process from ending: whoever presses Ctrl-C is not kept waiting by a
    pod that does not answer.
    """

    def __init__(
        self, ranks: Iterable[int], work: Callable[[int], _T], at_once: int | None = None
    ) -> None:
        """Begin at once.

        Args:
            ranks: For which.
            work: What is done for each.
            at_once: For how many at the same time; None for all.
        """
        self._work = work
        self._room = threading.Semaphore(at_once) if at_once else nullcontext()
        self.done: dict[int, _T] = {}
        self.failed: dict[int, Exception] = {}
        self._threads = [
            threading.Thread(target=self._run, args=(rank,), daemon=True) for rank in ranks
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all are done, or have failed, or the time is over."""
        until = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))

    def results(self) -> dict[int, _T]:
        """What the work on each rank has come to, once all are done.

        Raises:
            Exception: What the first of the ranks that failed has raised.
        """
        self.wait()
        if self.failed:
            raise self.failed[min(self.failed)]
        return self.done

    def _run(self, rank: int) -> None:
        try:
            with self._room:
                self.done[rank] = self._work(rank)
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            self.failed[rank] = error


def on_every(
    ranks: Iterable[int], work: Callable[[int], _T], at_once: int | None = None
) -> dict[int, _T]:
    """What work on each rank has come to; see OnEvery.results."""
    return OnEvery(ranks, work, at_once).results()
