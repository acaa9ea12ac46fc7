"""What books should add up to, calculated pod by pod from what each process could know."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from devctl.api.prices import Price
from devctl.api.usage import next_month, start_of

if TYPE_CHECKING:
    from collections.abc import Iterable

SAVED = 16 * 3600


class Sums(NamedTuple):
    """Seconds, of GPUs, idle, saved; and the costs of all, of idle and of saved ones."""

    seconds: int = 0
    gpu_seconds: int = 0
    idle_seconds: int = 0
    saved_seconds: int = 0
    cost: int = 0
    idle_cost: int = 0
    saved_cost: int = 0

    def plus(self, other: Sums) -> Sums:
        """Both together."""
        return Sums(*map(sum, zip(self, other, strict=True)))


Line = tuple[str, str, str, str, Price]
"""Month, owner, name of the server, flavor and price."""


@dataclass
class Knowledge:
    """What one process knows; moments are monotonic seconds."""

    since: int
    ahead: int = 0
    """Of the ledger's clock, once it has asked for the time."""
    prices: dict[str, list[tuple[int, Price]]] = field(default_factory=lambda: defaultdict(list))
    idle: dict[str, list[tuple[int, int | None]]] = field(default_factory=lambda: defaultdict(list))
    saw: dict[str, int] = field(default_factory=dict)
    """What it has seen, and when first."""
    started: set[str] = field(default_factory=set)
    """What it has seen start."""
    ended: set[str] = field(default_factory=set)

    def changes(self, uid: str, flavor: str) -> list[tuple[int, Price]]:
        """Since when something has had which prices, on the ledger's clock."""
        first = self.saw[uid]
        now = [price for steady, price in self.prices[flavor] if steady <= first][-1]
        later = [(steady, price) for steady, price in self.prices[flavor] if steady > first]
        found = later if uid in self.started else [(first, now), *later]
        return [(steady + self.ahead, price) for steady, price in found]

    def price(self, uid: str, flavor: str, moment: int, before: Price | None) -> Price:
        """The price at a moment of the ledger's clock."""
        first = self.saw[uid]
        now = [price for steady, price in self.prices[flavor] if steady <= first][-1]
        found = now if before is None else before
        for since, price in self.changes(uid, flavor):
            found = price if since <= moment else found
        return found

    def is_idle(self, server: str, moment: int) -> bool:
        """Whether a server is idle at a moment of the ledger's clock."""
        for since, until in self.idle[server]:
            if since + self.ahead <= moment and (until is None or moment < until + self.ahead):
                return True
        return False

    def turns(self, server: str) -> Iterable[int]:
        """All moments at which idleness changes."""
        for span in self.idle[server]:
            yield from (steady + self.ahead for steady in span if steady is not None)


@dataclass
class Item:
    """A pod, or a stop for idleness, and how far it has been counted."""

    uid: str
    owner: str
    server: str
    flavor: str
    gpus: int
    wall_start: int
    steady_start: int
    created: int = 0
    """By the API server's clock."""
    stop: bool = False
    wall_end: int | None = None
    """Of a pod that ends by itself, as its node says."""
    steady_end: int | None = None
    there: bool = True
    counted: int | None = None
    price: Price | None = None
    stopped_at: int = 0
    closed: bool = False

    def begin(self, of: Knowledge, now: int) -> int:
        """When it starts on the ledger's clock."""
        if self.uid in of.started:
            return self.steady_start + of.ahead
        return max(self.created, min(self.wall_start, now))

    def end(self, of: Knowledge, now: int) -> int | None:
        """When it ends on the ledger's clock; None if it does not, as far as is known."""
        assert self.counted is not None
        if self.steady_end is None:
            return None
        missed = self.uid not in of.ended
        steady = of.since if missed else self.steady_end
        noticed = max(self.counted, min(steady + of.ahead, now))
        if self.wall_end is not None and self.counted <= self.wall_end <= noticed:
            return self.wall_end
        return self.counted if missed else noticed


@dataclass
class Oracle:
    """The sums that follow from the writes that have arrived."""

    items: dict[str, Item] = field(default_factory=dict)
    sums: dict[Line, Sums] = field(default_factory=lambda: defaultdict(Sums))

    def written(self, of: Knowledge, month: str, steady: int) -> None:
        """A process has written the book of a month."""
        now, first, last = steady + of.ahead, start_of(month), start_of(next_month(month))
        # Thousands have ended.
        live = [item for item in self.items.values() if not item.closed]
        self.items = {item.uid: item for item in live}
        for item in live:
            known = item.uid in of.saw
            if item.counted is None:
                begin = item.begin(of, now) if known else last
                if begin >= last or begin > now:
                    continue
                item.counted = max(begin, first)
                item.stopped_at = item.counted
            item.counted = max(item.counted, first)
            if not known:
                item.closed = True
                continue
            end = item.end(of, now)
            until = min(max(item.counted, now) if end is None else end, last)
            if item.stop:
                until = min(until, item.stopped_at + SAVED)
            self._add(item, of, month, until)
            item.counted = max(item.counted, until)
            item.closed = end is not None and end <= last

    def _add(self, item: Item, of: Knowledge, month: str, until: int) -> None:
        assert item.counted is not None
        if item.price is None:
            item.price = of.price(item.uid, item.flavor, item.counted, None)
        since = item.counted
        turns = {turn for turn, _ in of.changes(item.uid, item.flavor)} | {*of.turns(item.server)}
        inside = {turn for turn in turns if since < turn < until}
        cuts = sorted({since, until, *inside}) if until > since else [since]
        for begin, end in pairwise(cuts):
            price, seconds = of.price(item.uid, item.flavor, begin, item.price), end - begin
            cost = seconds * (price.per_hour + item.gpus * price.per_gpu_hour)
            if item.stop:
                one = Sums(saved_seconds=seconds, saved_cost=cost)
            else:
                idle = int(bool(item.server) and of.is_idle(item.server, begin))
                one = Sums(seconds, seconds * item.gpus, seconds * idle, 0, cost, cost * idle, 0)
            line = (month, item.owner, item.server, item.flavor, price)
            self.sums[line] = self.sums[line].plus(one)
        item.price = of.price(item.uid, item.flavor, max(since, until), item.price)
