"""How a book goes on: intervals are counted up to now, opened and closed.

Everything is whole seconds of one clock (timeline.py). Each second of a pod is counted once: an
interval only ever goes on from where its book says that it has been counted to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from devctl.api.usage import Amounts, LineKey, next_month
from devctl_observer.kinds.usage.book import Book, Open

MOST_OPEN = 2500
"""Pods counted at the same time in a namespace; others are as soon as there is room."""
MOST_CLOSED = 2048
REMEMBERED = 3600
"""Seconds for which a pod is remembered that this process has forgotten: another may know it."""


@dataclass(frozen=True)
class Seen:
    """What is known of a pod, or of a server that was stopped for idleness."""

    line: LineKey
    """Its line when it started."""
    start: int
    gpus: int = 0
    pods: int = 1
    changes: Sequence[tuple[int, LineKey]] = ()
    """Since when it has had other lines, in order."""
    end: int | None = None
    """When its end was noticed; None if it has not ended."""
    finished: int | None = None
    """When it ended by the clock of its node."""
    missed: bool = False
    """Whether its end was over when it was noticed."""
    idle: Sequence[tuple[int, int | None]] = ()
    """When its server was idle; the last time may have no end."""
    created: int = 0
    stopped: bool = False
    """Whether it is a server that was stopped for idleness."""
    done: bool = False
    """Whether this process has read that it is counted to its end."""

    def line_at(self, moment: int, before: LineKey) -> LineKey:
        """Its line at a moment; `before` is the one that it had before any change."""
        known = [line for since, line in self.changes if since <= moment]
        return known[-1] if known else before


def settle(book: Book, seen: Mapping[str, Seen], now: int) -> Book:
    """A book with everything counted up to now, or to the end of its month.

    Args:
        book: The book as it is stored.
        seen: By UID, all pods and stopped servers of the namespace. What is open and not among
            them has ended, unseen.
        now: The current second.
    """
    lines, still = dict(book.lines), dict[str, Open]()
    closed = dict(book.closed)
    entries = {uid: entry for uid, entry in book.open.items() if uid in seen}
    for uid in book.open.keys() - entries.keys():
        closed[uid] = now
    for uid, one in seen.items():
        room = len(entries) < MOST_OPEN
        if room and uid not in entries and uid not in closed and _begins(one, book, now):
            entries[uid] = _opened(one, book)
    for uid, entry in entries.items():
        one = seen[uid]
        end = _end(one, entry, now)
        until = min(end, book.end, *([] if entry.most is None else [entry.most]))
        for line, amounts in _counted(entry, one, until):
            lines[line] = lines.get(line, Amounts()) + amounts
        if one.end is not None and end <= book.end:
            closed[uid] = now
        else:
            line = one.line_at(until, entry.line)
            still[uid] = replace(entry, line=line, counted_until=max(until, entry.counted_until))
    complete = now >= book.end
    found = replace(book, lines=lines, open=still, closed=closed, complete=complete)
    return _forgotten(found, seen, now)


def turned(book: Book) -> Book:
    """The book of the next month: what is open goes on there, from its first second."""
    month = next_month(book.month)
    new = replace(book, month=month, lines={}, open={}, complete=False)
    begun = {
        uid: replace(entry, counted_until=max(entry.counted_until, new.start))
        for uid, entry in book.open.items()
    }
    return replace(new, open=begun)


def has_news(old: Book, new: Book) -> bool:
    """Whether a book must be written."""
    ended = new.closed.keys() - old.closed.keys()
    turns = new.complete and not old.complete
    return bool(ended) or turns or old.lines != new.lines or old.open != new.open


def _begins(one: Seen, book: Book, now: int) -> bool:
    """Whether something that no book knows is to be counted in this one."""
    forgotten = 0 < one.created <= book.closed_before
    return one.start < book.end and one.start <= now and not forgotten and not one.done


def _opened(one: Seen, book: Book) -> Open:
    start = max(one.start, book.start)
    return Open(one.line, start, one.gpus, one.pods, start if one.stopped else None)


def _end(one: Seen, entry: Open, now: int) -> int:
    """Up to when it is counted: its end, or now.

    A node's clock may be wrong: it is believed where it fits in with ours.
    """
    noticed = max(entry.counted_until, now if one.end is None else min(one.end, now))
    if one.end is None:
        return noticed
    if one.finished is not None and entry.counted_until <= one.finished <= noticed:
        return one.finished
    return entry.counted_until if one.missed else noticed


def _counted(entry: Open, one: Seen, until: int) -> Iterator[tuple[LineKey, Amounts]]:
    """What is added to which line, up to a moment."""
    since = entry.counted_until
    turns = [moment for moment, _ in one.changes if since < moment < until]
    for begin, end in zip([since, *turns], [*turns, until], strict=True):
        if end > begin:
            line = one.line_at(begin, entry.line)
            yield line, _amounts(entry, one, line, begin, end)


def _amounts(entry: Open, one: Seen, line: LineKey, begin: int, end: int) -> Amounts:
    def cost(seconds: int) -> int:
        return line.price.cost(seconds, seconds * entry.gpus)

    seconds = (end - begin) * entry.pods
    if entry.stopped_at is not None:
        return Amounts(saved_seconds=seconds, saved_cost=cost(seconds))
    idle = _overlap(one.idle, begin, end)
    return Amounts(seconds, seconds * entry.gpus, idle, 0, cost(seconds), cost(idle))


def _overlap(times: Sequence[tuple[int, int | None]], begin: int, end: int) -> int:
    """For how many seconds any of some times overlaps an interval; they are in order."""
    total, after = 0, begin
    for since, until in times:
        first, last = max(since, after), end if until is None else min(until, end)
        total += max(0, last - first)
        after = max(after, last)
    return total


def _forgotten(book: Book, seen: Mapping[str, Seen], now: int) -> Book:
    """A book without pods that nobody knows any more, and with a bounded number of others."""
    known = {uid: max(at, now) if uid in seen else at for uid, at in book.closed.items()}
    kept = {uid: at for uid, at in known.items() if at > now - REMEMBERED}
    before = book.closed_before
    if len(kept) > MOST_CLOSED:
        # A pod's creation is dated by the API server, and never changes.
        order = sorted(kept, key=lambda uid: (seen[uid].created if uid in seen else 0, uid))
        for uid in order[: len(kept) - MOST_CLOSED]:
            del kept[uid]
            before = max(before, seen[uid].created if uid in seen else 0)
    return replace(book, closed=kept, closed_before=before)
