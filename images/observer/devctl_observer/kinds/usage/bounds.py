"""Keeps a book within the size of an object: etcd takes 1.5 MiB."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from devctl.api.prices import Price
from devctl.api.usage import OTHERS, Amounts, LineKey
from devctl_observer.kinds.usage.book import Book, size_of

MOST_LINES = 4000
MOST_BYTES = 900_000
"""Of all lines; what is open and closed takes up to half as much."""
_REMAINS = 0.75
"""The part of a bound that remains once it is exceeded, so that not every write merges lines."""


def bounded(book: Book) -> Book:
    """A book whose smallest lines are summed up if there are too many; no sum changes.

    They become a line `others` for each owner, team and currency; if these are too many, too, one
    for each currency. The lines of what runs stay.
    """
    return _merged(_merged(book, _of_owner), _of_anyone)


def _of_owner(key: LineKey) -> LineKey:
    return LineKey(key.owner, "", OTHERS, team=key.team, price=Price(currency=key.price.currency))


def _of_anyone(key: LineKey) -> LineKey:
    return LineKey("", "", OTHERS, price=Price(currency=key.price.currency))


def _merged(book: Book, sum_of: Callable[[LineKey], LineKey]) -> Book:
    """A book with as many lines merged as needed, the smallest first."""
    sizes = {key: size_of(key, amounts) for key, amounts in book.lines.items()}
    count, total = len(sizes), sum(sizes.values())
    if count <= MOST_LINES and total <= MOST_BYTES:
        return book
    used = {entry.line for entry in book.open.values()}
    free = [key for key in book.lines if key not in used and sum_of(key) != key]
    free.sort(key=lambda key: (book.lines[key].cost, book.lines[key].seconds, key))
    lines = dict(book.lines)
    for key in free:
        if count <= MOST_LINES * _REMAINS and total <= MOST_BYTES * _REMAINS:
            break
        into = sum_of(key)
        count, total = count - 1, total - sizes[key]
        if into not in lines:
            count, total = count + 1, total + size_of(into, lines[key])
        lines[into] = lines.get(into, Amounts()) + lines.pop(key)
    return replace(book, lines=lines)
