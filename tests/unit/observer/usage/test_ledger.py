"""How a book goes on, against calculations of other kinds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from devctl_observer.kinds.usage import ledger
from devctl_observer.kinds.usage.book import Book, read_book, write_book
from devctl_observer.kinds.usage.ledger import REMEMBERED, Seen, has_news, settle, turned
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.prices import HOUR, Price, rounded
from devctl.api.usage import Amounts, LineKey, start_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MONTH = "2026-11"
T0 = start_of(MONTH)
END = start_of("2026-12")
PRICES = [Price(1_200_000, 2_500_000, "EUR"), Price(1, 7, "EUR"), Price(333_333, 0, "USD")]
LINE = LineKey("alice", "DevServer", "lab", "s-1", "gpu", "vision", PRICES[0])
DEARER = LINE._replace(price=PRICES[1])


def total(books: Sequence[Book]) -> Amounts:
    return sum((a for book in books for a in book.lines.values()), Amounts())


def stored(book: Book) -> Book:
    """The same after it was written and read again."""
    spec = {field: value for field, value in write_book(book).items() if value is not None}
    return read_book(book.month, spec)


def test_a_pod_is_counted_from_its_start_to_its_end() -> None:
    pod = Seen(LINE, T0 + 10, gpus=2)
    book = settle(Book(MONTH), {"p": pod}, T0 + 70)
    assert book.lines[LINE] == Amounts(60, 120, 0, 0, 60 * 1_200_000 + 120 * 2_500_000)
    book = settle(book, {"p": replace(pod, end=T0 + 100)}, T0 + 130)
    assert book.lines[LINE].seconds == 90
    assert book.open == {}
    again = settle(book, {"p": replace(pod, end=T0 + 100)}, T0 + 400)
    assert not has_news(book, again)


@pytest.mark.parametrize(
    ("finished", "missed", "until"),
    [
        (50, False, 50),
        (50, True, 50),
        (5, False, 80),  # before what has been counted: a wrong clock
        (5, True, 30),
        (200, True, 30),  # in the future
        (None, True, 30),
        (None, False, 80),
    ],
)
def test_a_late_end_is_the_nodes_if_it_fits(
    finished: int | None, *, missed: bool, until: int
) -> None:
    book = settle(Book(MONTH), {"p": Seen(LINE, T0)}, T0 + 30)
    at = None if finished is None else T0 + finished
    pod = Seen(LINE, T0, end=T0 + 80, finished=at, missed=missed)
    assert settle(book, {"p": pod}, T0 + 90).lines[LINE].seconds == until


def test_an_end_that_nobody_saw_is_where_it_was_seen_last() -> None:
    book = settle(Book(MONTH), {"p": Seen(LINE, T0)}, T0 + 30)
    book = settle(book, {}, T0 + 500)
    assert book.lines[LINE].seconds == 30
    assert set(book.closed) == {"p"}
    # Whoever still takes it for running counts it no more.
    assert not has_news(book, settle(book, {"p": Seen(LINE, T0)}, T0 + 600))


def test_a_pod_that_is_gone_is_forgotten_after_an_hour_and_one_that_is_there_never() -> None:
    there = {"there": Seen(LINE, T0, end=T0 + 9)}
    book = settle(Book(MONTH), there | {"gone": Seen(LINE, T0, end=T0 + 9)}, T0 + 10)
    assert set(settle(book, there, T0 + REMEMBERED + 9).closed) == {"gone", "there"}
    assert set(settle(book, there, T0 + REMEMBERED + 99).closed) == {"there"}


def test_what_is_forgotten_for_want_of_room_is_not_counted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledger, "MOST_CLOSED", 2)
    pods = {f"p{n}": Seen(LINE, T0, end=T0 + 9, created=T0 + n) for n in range(4)}
    book = stored(settle(Book(MONTH), pods, T0 + 10))
    assert set(book.closed) == {"p2", "p3"}
    assert not has_news(book, settle(book, pods, T0 + 20))
    new = pods | {"new": Seen(LINE, T0 + 15, created=T0 + 15)}
    assert set(settle(book, new, T0 + 20).open) == {"new"}


def test_without_room_a_pod_is_counted_later_from_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledger, "MOST_OPEN", 1)
    pods = {"a": Seen(LINE, T0), "b": Seen(LINE, T0 + 1)}
    book = settle(Book(MONTH), pods, T0 + 50)
    assert set(book.open) == {"a"}
    book = settle(book, pods | {"a": replace(pods["a"], end=T0 + 60)}, T0 + 60)
    book = settle(book, pods | {"a": replace(pods["a"], end=T0 + 60)}, T0 + 61)
    assert book.lines[LINE].seconds == 60 + 60


def test_a_new_price_starts_a_line_from_its_second_on() -> None:
    pod = Seen(LINE, T0, changes=[(T0 + 40, DEARER)])
    book = settle(Book(MONTH), {"p": pod}, T0 + 100)
    assert {key: amounts.seconds for key, amounts in book.lines.items()} == {LINE: 40, DEARER: 60}
    # A new process knows only that it has that price now.
    book = settle(book, {"p": Seen(DEARER, T0)}, T0 + 110)
    assert book.lines[DEARER].seconds == 70


def test_a_price_that_changed_unseen_counts_from_when_it_was_seen() -> None:
    book = settle(Book(MONTH), {"p": Seen(LINE, T0)}, T0 + 100)
    found = Seen(DEARER, T0, changes=[(T0 + 130, DEARER)])
    book = settle(book, {"p": found}, T0 + 150)
    assert {key: amounts.seconds for key, amounts in book.lines.items()} == {LINE: 130, DEARER: 20}


def test_a_clock_that_is_set_back_counts_nothing_twice() -> None:
    pod = {"p": Seen(LINE, T0)}
    book = settle(Book(MONTH), pod, T0 + 100)
    for now in (T0 + 40, T0 + 90, T0 + 100):
        assert not has_news(book, settle(book, pod, now))
    assert settle(book, pod, T0 + 110).lines[LINE].seconds == 110


def test_idle_times_overlap_what_is_counted() -> None:
    idle = [(T0 - 50, T0 + 10), (T0 + 5, T0 + 20), (T0 + 90, None)]
    book = settle(Book(MONTH), {"p": Seen(LINE, T0, gpus=1, idle=idle)}, T0 + 100)
    found = book.lines[LINE]
    assert (found.seconds, found.idle_seconds) == (100, 30)
    assert found.idle_cost == PRICES[0].cost(30, 30)


def test_a_stop_saves_as_if_all_pods_ran_and_sixteen_hours_at_most() -> None:
    stop = {"s@x": Seen(LINE, T0, gpus=1, pods=3, stopped=True)}
    book = settle(Book(MONTH), stop, T0 + 100)
    assert book.lines[LINE] == Amounts(saved_seconds=300, saved_cost=PRICES[0].cost(300, 300))
    book = settle(stored(book), stop, T0 + 20 * HOUR)
    assert book.lines[LINE].saved_seconds == 3 * 16 * HOUR
    later = settle(book, stop, T0 + 400 * HOUR)
    assert not has_news(book, later)
    assert not any(entry.goes_on for entry in later.open.values())
    december = turned(settle(later, stop, END))
    assert not has_news(december, settle(december, stop, END + 50))


def test_a_month_ends_for_what_runs() -> None:
    pods = {"p": Seen(LINE, END - 100, idle=[(END - 30, None)])}
    november = settle(Book(MONTH), pods, END + 50)
    assert november.lines[LINE].seconds == 100
    december = settle(turned(november), pods, END + 50)
    assert december.lines[LINE] == replace(
        Amounts(50, 0, 50), cost=PRICES[0].cost(50, 0), idle_cost=PRICES[0].cost(50, 0)
    )
    # Whoever has not seen that December has begun finds November as it is.
    assert not has_news(november, settle(november, pods, END + 90))
    # A pod that started before, and of which November knows nothing.
    early = Seen(LINE, END - 100, end=END - 40)
    assert settle(november, {"q": early, **pods}, END + 50).lines[LINE].seconds == 160


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[str, Seen], list[int]]:
    """Pods of two months with prices and idle times, and moments at which they are settled."""
    pods = {}
    for number in range(draw(st.integers(1, 4))):
        start = END + draw(st.integers(-3000, 1000))
        end = draw(st.none() | st.integers(start, END + 3000))
        turns = sorted(draw(st.lists(st.integers(END - 3000, END + 3000), max_size=3, unique=True)))
        lines = [LINE._replace(name=f"s{number}", uid=f"u{number}", price=p) for p in PRICES]
        changes = [(t, lines[draw(st.integers(0, 2))]) for t in turns]
        marks = sorted(draw(st.lists(st.integers(END - 4000, END + 4000), max_size=6, unique=True)))
        idle = [(a, b) for a, b in zip(marks[::2], marks[1::2], strict=False)]
        pods[f"p{number}"] = Seen(
            *(lines[0], start, draw(st.integers(0, 8))), changes=changes, end=end, idle=idle
        )
    return pods, sorted(draw(st.lists(st.integers(END - 3000, END + 3500), max_size=12)))


def as_known(pod: Seen, now: int) -> Seen | None:
    """What is known of a pod by now; None before it starts."""
    if pod.start > now:
        return None
    end = pod.end if pod.end is not None and pod.end <= now else None
    idle = [(a, b if b is not None and b <= now else None) for a, b in pod.idle if a <= now]
    changes = [(t, line) for t, line in pod.changes if t <= now]
    return replace(pod, end=end, idle=idle, changes=changes)


def second_by_second(pods: Mapping[str, Seen], now: int) -> dict[str, dict[LineKey, Amounts]]:
    """The same sums, one second after the other."""
    months: dict[str, dict[LineKey, Amounts]] = {MONTH: {}, "2026-12": {}}
    for pod in pods.values():
        for second in range(pod.start, min(now, pod.end if pod.end is not None else now)):
            lines = months[MONTH if second < END else "2026-12"]
            line = pod.line
            for since, other in pod.changes:
                line = other if since <= second else line
            idle = int(any(a <= second < (b or now) for a, b in pod.idle))
            price = line.price.per_hour + pod.gpus * line.price.per_gpu_hour
            one = Amounts(1, pod.gpus, idle, 0, price, price * idle)
            lines[line] = lines.get(line, Amounts()) + one
    return months


@given(histories())
def test_however_often_it_is_settled_the_sums_are_the_same(
    history: tuple[dict[str, Seen], list[int]],
) -> None:
    pods, moments = history
    books = [Book(MONTH)]
    last = END + 3600
    for now in [*moments, last]:
        known = {uid: one for uid, pod in pods.items() if (one := as_known(pod, now))}
        while True:
            books[-1] = stored(settle(books[-1], known, now))
            if now < books[-1].end:
                break
            books.append(turned(books[-1]))
    found = {
        book.month: {key: a for key, a in book.lines.items() if a != Amounts()} for book in books
    }
    expected = second_by_second(pods, last)
    assert {"2026-12": {}, **found} == expected
    exact = Fraction(0)
    for lines in expected.values():
        for key, a in lines.items():
            exact += Fraction(key.price.cost(a.seconds, a.gpu_seconds), HOUR)
    assert 2 * abs(rounded(total(books).cost) - exact) <= 1
