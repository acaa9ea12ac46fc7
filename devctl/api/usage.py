"""Usage: what ran in a namespace in a month, and what that cost.

The observer writes it, commands read it. Times are whole seconds since 1970, in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.prices import HOUR, NO_PRICE, Price

if TYPE_CHECKING:
    from collections.abc import Mapping

KIND = "Usage"
PLURAL = "usages"

OTHERS = "others"
"""The name of a line that sums up small ones, of which there were too many."""
SAVED_HOURS = 16
"""A stop for idleness saves at most as much: nobody knows for how long it would have run."""

_DECEMBER = 12


class LineKey(NamedTuple):
    """What a line is about; a change of any of it, such as the price, starts a new line."""

    owner: str
    """By the name that the API server knows; empty if unknown."""
    kind: str
    """`DevServer`, `EphemeralAccelerationJob`, `GPUWorkload` or `VLLMRun`; empty for `others`."""
    name: str = ""
    """Of the server; empty for all others, of which there may be thousands."""
    uid: str = ""
    """Of the server."""
    flavor: str = ""
    """Whose price it has; of a GPUWorkload or VLLMRun, one that selects its node. Empty if there is
    none."""
    team: str = ""
    price: Price = NO_PRICE


@dataclass(frozen=True)
class Amounts:
    """What ran and what it cost; adding two of them adds each amount.

    Costs are in seconds x millionths per hour (devctl.api.prices).
    """

    seconds: int = 0
    """Of pods: two for each second in which two of them run."""
    gpu_seconds: int = 0
    idle_seconds: int = 0
    """Of pods of servers that are idle by their status; part of `seconds`."""
    saved_seconds: int = 0
    """Of pods that would have run, had their server not been stopped for idleness."""
    cost: int = 0
    idle_cost: int = 0
    saved_cost: int = 0

    def __add__(self, other: Amounts) -> Amounts:
        """Both together."""
        return Amounts(*(getattr(self, name) + getattr(other, name) for name in _NAMES))


_NAMES = tuple(field.name for field in fields(Amounts))
_SECONDS = {
    "seconds": "seconds",
    "gpuSeconds": "gpu_seconds",
    "idleSeconds": "idle_seconds",
    "savedSeconds": "saved_seconds",
}
_COSTS = {"cost": "cost", "idleCost": "idle_cost", "savedCost": "saved_cost"}
_WORDS = ("name", "uid", "flavor", "team")
_REST = "Rest"
"""The end of the names of fields with what is less than a millionth, in 3600ths of one."""


def write_line(key: LineKey, amounts: Amounts) -> dict[str, Any]:
    """A line as in a Usage object; what is empty or 0 is left out."""
    per_hour, per_gpu_hour, currency = key.price
    found: dict[str, Any] = {"owner": key.owner, "kind": key.kind, "name": key.name}
    found |= {"uid": key.uid, "flavor": key.flavor, "team": key.team, "currency": currency}
    found |= {"perHour": per_hour, "perGPUHour": per_gpu_hour}
    found |= {field: getattr(amounts, name) for field, name in _SECONDS.items()}
    for field, name in _COSTS.items():
        found[field], found[field + _REST] = divmod(getattr(amounts, name), HOUR)
    return {field: value for field, value in found.items() if value or field == "owner"}


def read_line(line: Mapping[str, Any]) -> tuple[LineKey, Amounts]:
    """A line of a Usage object.

    >>> read_line(write_line(LineKey("alice", "DevServer"), Amounts(seconds=7)))[1].seconds
    7
    """
    price = Price(line.get("perHour", 0), line.get("perGPUHour", 0), line.get("currency", ""))
    words = {field: line.get(field, "") for field in ("owner", "kind", *_WORDS)}
    amounts = {name: line.get(field, 0) for field, name in _SECONDS.items()}
    for field, name in _COSTS.items():
        amounts[name] = line.get(field, 0) * HOUR + line.get(field + _REST, 0)
    return LineKey(**words, price=price), Amounts(**amounts)


def month_of(seconds: int) -> str:
    """The month of a moment, which is the name of its Usage.

    >>> month_of(0)
    '1970-01'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m}"


def next_month(month: str) -> str:
    """The month after one.

    >>> next_month("2026-09"), next_month("2026-12")
    ('2026-10', '2027-01')
    """
    year, number = _parts(month)
    return f"{year + 1}-01" if number == _DECEMBER else f"{year}-{number + 1:02}"


def month_before(month: str) -> str:
    """The month before one.

    >>> month_before("2027-01"), month_before("2026-12")
    ('2026-12', '2026-11')
    """
    year, number = _parts(month)
    return f"{year - 1}-12" if number == 1 else f"{year}-{number - 1:02}"


def start_of(month: str) -> int:
    """The first second of a month.

    >>> start_of("1970-02")
    2678400
    """
    return int(datetime(*_parts(month), 1, tzinfo=UTC).timestamp())


def _parts(month: str) -> tuple[int, int]:
    year, _, number = month.partition("-")
    return int(year), int(number)
