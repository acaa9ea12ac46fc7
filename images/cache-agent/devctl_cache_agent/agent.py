"""The agent: what it keeps, whose turn it is, and what it reports."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Protocol

from devctl.api.node_cache import MIN_REPORT_SECONDS, REPORT_SECONDS
from devctl_cache_agent import status
from devctl_cache_agent.plan import Sort, wanted
from devctl_cache_agent.problems import CacheError, DroppedError
from devctl_cache_agent.status import FAILED, PULLING, READY, Entry, shown
from devctl_cache_agent.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import datetime

    from devctl_cache_agent.plan import Item

log = logging.getLogger(__name__)


class Keeper(Protocol):
    """Keeps items of one sort."""

    def is_present(self, item: Item) -> bool:
        """Whether the node has it, perhaps an older version; raises CacheError."""

    def keep(self, item: Item, tell: Callable[[Entry], None]) -> Entry:
        """Fetch what is missing; raises CacheError."""


class Board:
    """What the plan wants and how far everything is; all threads write here."""

    def __init__(self) -> None:
        """Want nothing, until the plan was read."""
        self._lock = threading.Lock()
        self._items: tuple[Item, ...] = ()
        self._entries: dict[Item, Entry] = {}
        self._errors: dict[str, tuple[str, ...]] = {}
        self.is_read = False
        """Whether the plan was read once."""

    def want(self, plan: Any, labels: Mapping[str, str]) -> tuple[Item, ...]:
        """Take over what the plan wants of a node with these labels."""
        items, wrong = wanted(plan, labels)
        with self._lock:
            self._items, self.is_read = items, True
            self._entries = {i: e for i, e in self._entries.items() if i in set(items)}
        self.tell_errors("plan", wrong)
        return items

    def items(self, sorts: Collection[Sort] = tuple(Sort)) -> tuple[Item, ...]:
        """What the plan wants of these sorts."""
        with self._lock:
            return tuple(item for item in self._items if item.sort in sorts)

    def known(self) -> frozenset[Item]:
        """Those of which it is known how far they are: not one that is wanted anew."""
        with self._lock:
            return frozenset(self._entries)

    def tell(self, item: Item, entry: Entry) -> None:
        """Note how far an item is.

        Raises:
            DroppedError: The plan does not want it any more.
        """
        with self._lock:
            if item not in self._items:
                raise DroppedError("the plan does not want it any more")
            self._entries[item] = entry

    def entry(self, item: Item) -> Entry:
        """How far an item is."""
        with self._lock:
            return self._entries.get(item, Entry())

    def tell_errors(self, about: str, errors: Collection[str]) -> None:
        """Note what is wrong with a part of the agent; nothing if it works again."""
        with self._lock:
            if tuple(errors) != self._errors.get(about, ()):
                log.info("%s: %s", about, "; ".join(errors) or "works again")
            self._errors[about] = tuple(errors)

    def content(self) -> dict[str, Any]:
        """All that is reported but the time."""
        with self._lock:
            errors = [each for found in self._errors.values() for each in found]
            return status.content(self._items, self._entries, errors)


class Worker:
    """Keeps items of some sorts, one at a time.

    Args:
        board: What is wanted.
        keepers: Who keeps what.
        clock: The monotonic clock.
        random: A random number from 0 to 1, at each call.
    """

    def __init__(
        self,
        board: Board,
        keepers: Mapping[Sort, Keeper],
        clock: Callable[[], float],
        random: Callable[[], float],
    ) -> None:
        """Have kept nothing yet."""
        self._board, self._keepers = board, keepers
        self._clock, self._random = clock, random
        self._turns = Turns()

    def step(self) -> float:
        """Do what is due; the seconds until something is again."""
        items = self._board.items(tuple(self._keepers))
        # The plan may have dropped and taken up an item since the last step.
        self._turns.keep(self._board.known())
        item = self._turns.next(items, self._clock())
        if item is None:
            return min(5.0, self._turns.pause(items, self._clock()))
        failed = not self._keep(item)
        self._turns.done(item, self._clock(), self._random(), failed=failed)
        return 0.0

    def _keep(self, item: Item) -> bool:
        before, keeper = self._board.entry(item), self._keepers[item.sort]
        try:
            # What is ready stays ready while it is looked at again.
            if before.status != READY:
                present = keeper.is_present(item)
                self._board.tell(item, Entry(PULLING, present, "looking at it"))
            entry = keeper.keep(item, lambda now: self._board.tell(item, shown(before, now, item)))
            self._board.tell(item, entry)
        except DroppedError:
            log.info("%s %s: not wanted any more", item.sort, item.name)
        except (CacheError, OSError) as error:
            present = self._board.entry(item).present
            log.warning("%s %s: %s", item.sort, item.name, error)
            self._fail(item, Entry(FAILED, present, str(error)))
            return False
        else:
            if entry != before:
                log.info("%s %s: %s", item.sort, item.name, entry.message)
        return True

    def _fail(self, item: Item, entry: Entry) -> None:
        try:
            self._board.tell(item, entry)
        except DroppedError:
            log.info("%s %s: not wanted any more", item.sort, item.name)


class Reporter:
    """Writes what has changed, but not too often.

    Args:
        board: What is reported.
        write: Writes a status; raises an exception of `failures`.
        failures: What it may raise.
        clock: The monotonic clock.
        wall_clock: For people.
    """

    def __init__(
        self,
        board: Board,
        write: Callable[[Mapping[str, Any]], None],
        failures: tuple[type[Exception], ...],
        clock: Callable[[], float],
        wall_clock: Callable[[], datetime],
    ) -> None:
        """Have written nothing yet."""
        self._board, self._write, self._failures = board, write, failures
        self._clock, self._wall_clock = clock, wall_clock
        self._last: tuple[float, dict[str, Any]] | None = None
        self.problem = "nothing was reported yet"
        """Why the last report failed; empty if it did not."""

    def step(self) -> float:
        """Report what is new; the seconds until the next look."""
        content = self._board.content()
        if self._board.is_read and self._is_due(content):
            try:
                self._write(status.stamped(content, self._wall_clock()))
            except self._failures as error:
                if str(error) != self.problem:
                    log.warning("cannot report: %s", error)
                self.problem = str(error)
            else:
                self.problem = ""
                self._last = self._clock(), content
        return float(MIN_REPORT_SECONDS)

    def _is_due(self, content: dict[str, Any]) -> bool:
        if self._last is None:
            return True
        at, before = self._last
        return content != before or self._clock() - at >= REPORT_SECONDS
