"""The ledger of a namespace and a month, as it is stored in one object.

Sums and running intervals are in the same object and written with its version. So whoever reads a
sum knows up to when everything in it is counted, and nothing is counted twice, whatever fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from devctl.api import kinds
from devctl.api.prices import HOUR, in_cents, rounded
from devctl.api.usage import (
    SAVED_HOURS,
    Amounts,
    LineKey,
    next_month,
    read_line,
    start_of,
    write_line,
)
from devctl_observer.control.kind import kind_of
from devctl_observer.judging.clocks import to_text
from devctl_observer.judging.model import Item

_LONGEST_SAVING = SAVED_HOURS * HOUR
_CURRENCIES = 8
"""In a summary."""
_SUMMED: Mapping[str, Callable[[Amounts], int]] = {
    "spent": lambda amounts: amounts.cost,
    "idle": lambda amounts: amounts.idle_cost,
    "saved": lambda amounts: amounts.saved_cost,
}


@dataclass(frozen=True)
class Open:
    """What is counted now: a pod that runs, or the pods of a server that was stopped for idleness.

    Moments are seconds since 1970.
    """

    line: LineKey
    counted_until: int
    gpus: int = 0
    """Of each pod."""
    pods: int = 1
    stopped_at: int | None = None
    """When the server was stopped for idleness; None for a pod."""

    @property
    def most(self) -> int | None:
        """Up to when it counts at most; None for as long as it runs."""
        return None if self.stopped_at is None else self.stopped_at + _LONGEST_SAVING

    @property
    def goes_on(self) -> bool:
        """Whether there is more to count."""
        return self.most is None or self.counted_until < self.most


@dataclass(frozen=True)
class Book:
    """The ledger of a month."""

    month: str
    lines: Mapping[LineKey, Amounts] = field(default_factory=dict)
    open: Mapping[str, Open] = field(default_factory=dict)
    """By the UID of the pod or server."""
    closed: Mapping[str, int] = field(default_factory=dict)
    """Pods that are counted to their end, by UID, and when they were last known to a process.

    None of them is counted again.
    """
    closed_before: int = 0
    """Unknown pods that were created by then are not counted: they may have been forgotten."""
    complete: bool = False
    """Whether everything is counted to the end of the month. Nobody writes it again then."""

    @property
    def start(self) -> int:
        """Its first second."""
        return start_of(self.month)

    @property
    def end(self) -> int:
        """The first second of the next month."""
        return start_of(next_month(self.month))


class Usage(Item, frozen=True):
    """A Usage object."""

    book: Book = Book("1970-01")


def write_book(book: Book) -> dict[str, Any]:
    """The spec of the object."""
    total = sum(book.lines.values(), Amounts())
    keys = sorted({*book.lines, *(entry.line for entry in book.open.values())})
    numbers = {key: number for number, key in enumerate(keys)}
    spec: dict[str, Any] = {
        "summary": {
            "hours": _hours(total.seconds),
            "gpuHours": _hours(total.gpu_seconds),
            **{word: _money(book, cost) for word, cost in _SUMMED.items()},
        },
        "lines": [write_line(key, book.lines.get(key, Amounts())) for key in keys],
        "open": [
            _write_open(uid, entry, numbers[entry.line]) for uid, entry in sorted(book.open.items())
        ],
        "closed": [{"uid": uid, "knownAt": _text(at)} for uid, at in sorted(book.closed.items())],
    }
    # A merge patch removes what is None.
    spec["closedBefore"] = _text(book.closed_before) if book.closed_before else None
    spec["complete"] = book.complete or None
    return spec


def _hours(seconds: int) -> str:
    return f"{seconds / HOUR:.1f}"


def _money(book: Book, of: Callable[[Amounts], int]) -> str:
    """A sum in each currency, as text."""
    sums: Counter[str] = Counter()
    for key, amounts in book.lines.items():
        sums[key.price.currency] += of(amounts)
    shown = [(currency, cost) for currency, cost in sorted(sums.items()) if currency and cost]
    some = [f"{in_cents(rounded(cost))} {currency}" for currency, cost in shown[:_CURRENCIES]]
    return ", ".join(some) + (", …" if len(shown) > _CURRENCIES else "")


def _write_open(uid: str, entry: Open, line: int) -> dict[str, Any]:
    found: dict[str, Any] = {"uid": uid, "line": line, "countedUntil": _text(entry.counted_until)}
    found |= {"gpus": entry.gpus} if entry.gpus else {}
    if entry.stopped_at is not None:
        found |= {"pods": entry.pods, "stoppedAt": _text(entry.stopped_at)}
    return found


def read_book(month: str, spec: Mapping[str, Any]) -> Book:
    """The book in an object's spec.

    Raises:
        ValueError, KeyError, IndexError: Somebody else has written it.
    """
    lines = [read_line(line) for line in spec.get("lines", [])]
    return Book(
        month,
        dict(lines),
        {entry["uid"]: _read_open(entry, lines) for entry in spec.get("open", [])},
        {entry["uid"]: _seconds(entry["knownAt"]) for entry in spec.get("closed", [])},
        _seconds(spec["closedBefore"]) if spec.get("closedBefore") else 0,
        bool(spec.get("complete")),
    )


def _read_open(entry: Mapping[str, Any], lines: Sequence[tuple[LineKey, Amounts]]) -> Open:
    stopped = entry.get("stoppedAt")
    return Open(
        lines[entry["line"]][0],
        _seconds(entry["countedUntil"]),
        entry.get("gpus", 0),
        entry.get("pods", 1),
        _seconds(stopped) if stopped else None,
    )


def _text(seconds: int) -> str:
    return to_text(datetime.fromtimestamp(seconds, UTC))


def _seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def size_of(key: LineKey, amounts: Amounts) -> int:
    """The bytes of a line."""
    return len(msgspec.json.encode(write_line(key, amounts)))


def _more(obj: Mapping[str, Any]) -> dict[str, Any]:
    # Parsed once here; as plain JSON it would take several times the memory.
    return {"book": read_book(obj["metadata"]["name"], obj.get("spec") or {})}


USAGE = kind_of(kinds.USAGE, Usage, _more)
