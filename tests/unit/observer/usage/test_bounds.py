"""A book fits into an object, whatever it has to say."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from devctl_observer.kinds.usage import bounds
from devctl_observer.kinds.usage.book import Book, Open, read_book, write_book
from devctl_observer.kinds.usage.bounds import MOST_BYTES, bounded
from devctl_observer.kinds.usage.ledger import MOST_CLOSED, MOST_OPEN

from devctl.api.prices import Price
from devctl.api.usage import OTHERS, Amounts, LineKey

if TYPE_CHECKING:
    import pytest

EUR, USD = Price(1, 2, "EUR"), Price(3, 4, "USD")


def line(number: int, owner: str = "alice", price: Price = EUR) -> LineKey:
    return LineKey(owner, "DevServer", f"s{number}", f"u{number}", "gpu", "vision", price)


def sums(book: Book, *, owners: bool = True) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for key, amounts in book.lines.items():
        who = key.owner if owners else ""
        for name, amount in vars(amounts).items():
            found[who, key.price.currency, name] += amount
    return found


def test_the_smallest_lines_are_summed_up_by_owner_and_currency(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounds, "MOST_LINES", 20)
    people = ("alice", "bob")
    lines = {
        line(n, owner, price): Amounts(n, n, n, n, 9 * n, n, n)
        for n in range(1, 8)
        for owner in people
        for price in (EUR, USD)
    }
    smallest = line(1)
    book = Book("2026-11", lines, {"p": Open(smallest, 0)})
    found = bounded(book)
    assert sums(found) == sums(book)
    assert len(found.lines) <= 15
    assert smallest in found.lines, "it is in use"
    assert {key.owner for key in found.lines if key.name == OTHERS} == {*people}
    assert line(7, "bob", USD) in found.lines
    assert bounded(found) == found


def test_too_many_owners_are_summed_up_by_currency(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_LINES", 20)
    lines = {line(n, f"user{n}"): Amounts(n + 1, cost=n) for n in range(100)}
    book = Book("2026-11", lines)
    found = bounded(book)
    assert len(found.lines) <= 20
    assert sums(found, owners=False) == sums(book, owners=False)
    assert LineKey("", "", OTHERS, price=Price(currency="EUR")) in found.lines


def test_the_largest_book_fits_into_etcd() -> None:
    lines = {line(n, f"{n}@{'x' * 200}"): Amounts(*[n + 10**9] * 7) for n in range(4000)}
    keys = list(lines)
    opened = {f"{n:036}": Open(keys[n % 100], 10**9, 8) for n in range(MOST_OPEN)}
    book = bounded(Book("2026-11", lines, opened, {f"{n:037}": 10**9 for n in range(MOST_CLOSED)}))
    spec = write_book(book)
    assert len(msgspec.json.encode(spec["lines"])) <= MOST_BYTES * 1.01
    assert len(msgspec.json.encode(spec)) < 1.4 * 2**20
    del spec["closedBefore"]
    assert read_book("2026-11", spec) == book
