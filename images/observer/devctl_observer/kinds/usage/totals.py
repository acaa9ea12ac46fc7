"""What owners and teams have spent in a month, in all namespaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from devctl.api.prices import rounded
from devctl.api.usage import LineKey
from devctl_observer.kinds.usage.book import Book
from devctl_observer.watching.store import Key

Who = tuple[str, str, str]
"""`owner` or `team`, its name, and a currency."""


class Totals:
    """Sums of all books that are known, brought up to date with each of them."""

    def __init__(self) -> None:
        """Start without any book."""
        self._books: dict[Key, Mapping[Who, int]] = {}
        self._sums: Counter[tuple[str, Who]] = Counter()

    def note(self, key: Key, book: Book | None) -> set[tuple[str, str]]:
        """Replace what is known of a book; returns the owners and teams with other sums."""
        old, new = self._books.pop(key, {}), _costs(book) if book else {}
        if new:
            self._books[key] = new
        changed = {who for who in {*old, *new} if old.get(who, 0) != new.get(who, 0)}
        for who in changed:
            self._sums[key.name, who] += new.get(who, 0) - old.get(who, 0)
            if not self._sums[key.name, who]:
                del self._sums[key.name, who]
        return {(kind, name) for kind, name, _ in changed}

    def spent(self, month: str, kind: str, name: str, currency: str) -> int:
        """What an owner or a team has spent, in millionths."""
        return rounded(self._sums[month, (kind, name, currency)])


def _costs(book: Book) -> Mapping[Who, int]:
    found: Counter[Who] = Counter()
    for line, amounts in book.lines.items():
        for kind, name in _whose(line):
            if name and line.price.currency and amounts.cost:
                found[kind, name, line.price.currency] += amounts.cost
    return found


def _whose(line: LineKey) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("owner", line.owner), ("team", line.team)
