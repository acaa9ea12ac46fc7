"""What stopping idle servers saves: a simulated week, judged as the observer judges.

Nothing here is real but the judgement: the shapes of people's weeks are assumptions, below, and the
random numbers always the same. usage: python tests/bench/savings.py [SERVERS]
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from devctl_observer.kinds.activity.model import PodReport, SignalReport
from devctl_observer.kinds.activity.reports import Arrival
from devctl_observer.kinds.servers.idleness import Before, Limits, Rank, judge

from devctl.api.node_activity import ALWAYS_REPORTED, REPORT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Week = list["Use"]

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
WEEK = 7 * DAY
EVENING = 19 * HOUR
TIMEOUTS = (0.5, 1, 2, 4, 8)
"""Hours."""
DETAILED = 2
SOON = 0.25 * HOUR
"""Somebody who returns so soon after a stop would rather have kept the server."""


class Use(NamedTuple):
    """Something is active from one moment to another, in seconds from Monday, 0:00."""

    begin: float
    end: float


def office(chance: Random) -> Week:
    """Somebody who edits, tests and reads from nine to six, with breaks."""
    return [use for day in range(5) for use in working_day(chance, day)]


def trainer(chance: Random) -> Week:
    """The same, and on most days a training that goes on into the night."""
    trainings = [
        Use(
            begin := day * DAY + chance.uniform(15, 18) * HOUR, begin + chance.uniform(4, 20) * HOUR
        )
        for day in range(5)
        if chance.random() < 0.7
    ]
    return merged([*office(chance), *trainings])


def notebook(chance: Random) -> Week:
    """Somebody who explores data a few times a day."""
    uses = []
    for day in range(5):
        for _ in range(chance.randint(1, 3)):
            begin = day * DAY + chance.uniform(9, 17) * HOUR
            uses.append(Use(begin, begin + chance.uniform(20, 120) * MINUTE))
    return merged(uses)


def occasional(chance: Random) -> Week:
    """Somebody who needs it on two days."""
    days = chance.sample(range(5), 2)
    return merged([use for day in days for use in working_day(chance, day)])


def forgotten(chance: Random) -> Week:
    """Somebody who tried something on Monday."""
    begin = chance.uniform(9, 16) * HOUR
    return [Use(begin, begin + chance.uniform(0.5, 3) * HOUR)]


def always(chance: Random) -> Week:
    """One training after the other, and weekends, too."""
    uses, now = [], chance.uniform(0, 9) * HOUR
    while now < WEEK:
        uses.append(Use(now, now + chance.uniform(5, 20) * HOUR))
        now = uses[-1].end + chance.uniform(5, 90) * MINUTE
    return merged(uses)


def working_day(chance: Random, day: int) -> Iterator[Use]:
    """Bursts of work with breaks; one in eight is a meeting or lunch."""
    now, evening = (day * DAY + chance.uniform(*span) * HOUR for span in ((8.5, 10), (17, 19)))
    while now < evening:
        end = now + chance.uniform(10, 60) * MINUTE
        yield Use(now, end)
        longest = (30, 90) if chance.random() < 1 / 8 else (2, 20)
        now = end + chance.uniform(*longest) * MINUTE


def merged(uses: Sequence[Use]) -> Week:
    """The same without overlaps."""
    found: Week = []
    for use in sorted(uses):
        if found and use.begin <= found[-1].end:
            found[-1] = Use(found[-1].begin, max(found[-1].end, use.end))
        else:
            found.append(use)
    return [Use(use.begin, min(use.end, WEEK)) for use in found if use.begin < WEEK]


SHAPES: dict[Callable[[Random], Week], float] = {
    office: 0.30,
    trainer: 0.25,
    notebook: 0.20,
    occasional: 0.10,
    forgotten: 0.10,
    always: 0.05,
}
"""The shapes of weeks, and how many servers in a hundred have each."""


@dataclass
class Result:
    """One server's week, in seconds, or of several."""

    on: float = 0.0
    """How long it would run if nobody stopped it, from its first use."""
    by_hand: float = 0.0
    """The same if everybody stopped it at seven, or when their training ends."""
    ran: float = 0.0
    used: float = 0.0
    stops: int = 0
    missed: int = 0
    """Stops after which somebody soon came back."""
    wrong: int = 0
    """Stops while something was active, or sooner after it than the limit."""

    def add(self, other: Result) -> None:
        """Add another server's."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def by_hand(week: Week) -> Week:
    """When a server runs whose owner stops it every evening."""
    return merged([Use(use.begin, max(use.end, use.begin // DAY * DAY + EVENING)) for use in week])


def length(week: Week) -> float:
    """How long something is active."""
    return sum(use.end - use.begin for use in week)


def live(week: Week, timeout: float) -> Result:
    """A week of a server that is started for each use and stopped as the observer would."""
    limit = Limits(timeout, stops=True)
    begins = [use.begin for use in week]
    result = Result(WEEK - begins[0], length(by_hand(week)), used=length(week))
    started: float | None = None
    before = Before()
    now = 0.0
    for tick in count():
        now = tick * REPORT_SECONDS
        if now >= WEEK:
            break
        last = bisect_right(begins, now) - 1
        if last < 0:
            continue
        use = week[last]
        if started is None:
            if now > use.end:
                continue
            started, before = use.begin, Before()
        active = min(now, use.end)
        judgement = judge([rank(now, active)], limit, now, before)
        if judgement.stop:
            result.ran += now - started
            result.stops += 1
            result.wrong += now - active < timeout
            following = begins[last + 1] if last + 1 < len(begins) else WEEK
            result.missed += following - now < SOON
            started = None
        else:
            noticed = before.noticed if before.noticed is not None else now
            before = Before(noticed if judgement.notice else None)
    if started is not None:
        result.ran += WEEK - started
    return result


def rank(now: float, active: float) -> Rank:
    """A replica whose agent has just reported when it was last active."""
    age = int(now - active)
    signals = [SignalReport(kind, age) for kind in ALWAYS_REPORTED]
    return Rank(0, "node", Arrival(PodReport("uid", age, signals), now, now))


def main(servers: int) -> None:
    """Print what is saved, by limit, and by shape for one of them."""
    weeks = {
        shape: [shape(Random(f"{shape.__name__} {number}")) for number in range(round(share))]  # noqa: S311
        for shape, share in ((shape, share * servers) for shape, share in SHAPES.items())
    }
    print(f"a week of {sum(map(len, weeks.values()))} servers, in hours")
    heads = ("limit", "never stopped", "by hand", "idle stops", "in use", "saved", "stops")
    print("".join(f"{head:>15}" for head in (*heads, "back in 15 min", "wrong")))
    for hours in TIMEOUTS:
        by_shape = {
            shape.__name__: total(live(week, hours * HOUR) for week in found)
            for shape, found in weeks.items()
        }
        say(f"{hours:g}h", total(by_shape.values()))
        if hours == DETAILED:
            for name, result in by_shape.items():
                say(name, result)


def total(results: Iterable[Result]) -> Result:
    """The sum of several."""
    found = Result()
    for result in results:
        found.add(result)
    return found


def say(name: str, of: Result) -> None:
    """Print a line."""
    hours = (f"{value / HOUR:.0f}" for value in (of.on, of.by_hand, of.ran, of.used))
    cells = (name, *hours, f"{100 * (1 - of.ran / of.on):.1f} %", of.stops, of.missed, of.wrong)
    print("".join(f"{cell!s:>15}" for cell in cells))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
