"""What is shown until Ctrl-C: a picture that changes on a terminal, new lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from devctl.cli.formats import TABLES, chosen_format
from devctl.cli.results import print_item
from devctl.cli.screen import clipped, columns, is_terminal
from devctl.cli.tables import lines_of
from devctl.client.objects import Snapshot
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError
from devctl.text import one_line, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from devctl.cli.listing import Listing
    from devctl.client.objects import Named

Seen = TypeVar("Seen")
Item = TypeVar("Item", bound="Named")

_OPEN, _CLOSE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""Switch to the terminal's other page without a cursor, and back."""
_HOME, _END_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"
_TICK = 1.0
"""Seconds after which ages are redrawn."""


def polled(start: Callable[[], Iterator[Sequence[Seen]]], every: float) -> Iterator[Snapshot[Seen]]:
    """Look every few seconds, and restart after a look that failed; never ends by itself.

    Raises:
        DevctlError: The first look failed, or a later one shows that none can succeed.
    """
    looks, last = start(), None
    while True:
        try:
            last = next(looks)
            yield Snapshot(last)
        except (DeniedError, NotFoundError, UsageError):
            raise
        except DevctlError as error:
            if last is None:
                raise
            looks = start()
            yield Snapshot(last, f"{error.message}; trying again")
        time.sleep(every)


def follow(
    seen: Iterator[Snapshot[Seen]],
    show: Callable[[Sequence[Seen], int], Sequence[str]],
    tell: Callable[[Sequence[Seen], Sequence[Seen] | None], Sequence[str]],
    *,
    lines: bool = False,
) -> NoReturn:
    """Show what is seen until Ctrl-C.

    `show` draws a picture of a width. `tell` gives the lines to print off a terminal, or on it too
    with `lines`, from a look and the one before.

    Raises:
        DevctlError: There is nothing more to see.
    """
    if is_terminal(sys.stdout) and not lines:
        _picture(seen, show)
    before: Sequence[Seen] | None = None
    for look in seen:
        if look.trouble:
            click.echo(readable(look.trouble), err=True)
        else:
            for line in tell(look.items, before):
                click.echo(line)
            before = look.items
        sys.stdout.flush()
    raise AssertionError  # pragma: no cover - looks do not end


def follow_news(
    seen: Iterator[Snapshot[Seen]],
    listing: Listing,
    news: Callable[[Sequence[Seen], Sequence[Seen] | None], Sequence[str]],
    empty: Sequence[str] = (),
) -> NoReturn:
    """Show a table, or print the news between two looks.

    Raises:
        UsageError: The command line asks for another format.
        DevctlError: There is nothing more to see.
    """
    if chosen_format(listing.output) not in TABLES:
        raise UsageError("--watch shows a table", "leave out -o, or --watch")

    def show(items: Sequence[Seen], width: int) -> Sequence[str]:
        return list(lines_of(items, listing.columns, width)) if items or not empty else empty

    follow(seen, show, news)


def follow_table(seen: Iterator[Snapshot[Any]], listing: Listing) -> NoReturn:
    """Show a table, or print each object that is new or has changed; see `print_items`."""
    output, resource = listing.output, listing.resource

    def show(items: Sequence[Any], width: int) -> list[str]:
        wide = output == "wide"
        return list(lines_of(listing.ordered(items), listing.columns, width, wide=wide))

    def rows(items: Sequence[Any], before: Sequence[Any] | None) -> list[str]:
        title, *lines = show(items, 0)
        new = {item.uid for item in changed(items, before)}
        shown = zip(listing.ordered(items), lines, strict=True)
        told = [line for item, line in shown if item.uid in new]
        left = {item.uid for item in items}
        gone = [
            f"{resource}/{one_line(item.name)} deleted"
            for item in before or []
            if item.uid not in left
        ]
        return [*([title] if before is None else []), *told, *gone]

    def documents(items: Sequence[Any], before: Sequence[Any] | None) -> list[str]:
        for item in changed(items, before):
            print_item(item, output, resource)
        return []

    if output in TABLES:
        follow(seen, show, rows)
    follow(seen, show, documents, lines=True)


def changed(seen: Sequence[Item], before: Sequence[Item] | None) -> list[Item]:
    """The items that are new or have changed."""
    old = {item.uid: item for item in before or []}
    return [item for item in seen if old.get(item.uid) != item]


def _picture(
    seen: Iterator[Snapshot[Seen]], show: Callable[[Sequence[Seen], int], Sequence[str]]
) -> NoReturn:
    looks: SimpleQueue[Snapshot[Seen] | BaseException] = SimpleQueue()

    def watch() -> None:
        try:
            for look in seen:
                looks.put(look)
        except BaseException as error:  # noqa: BLE001 - raised below
            looks.put(error)

    threading.Thread(target=watch, daemon=True).start()
    last: Snapshot[Seen] | None = None
    final: Sequence[str] = ()
    sys.stdout.write(_OPEN)
    try:
        while True:
            try:
                news = looks.get(timeout=_TICK)
            except Empty:
                news = last or looks.get()
            if isinstance(news, BaseException):
                raise news
            last = news
            final = show(last.items, columns(sys.stdout))
            _draw(final, last.trouble)
    finally:
        # The lines drawn last stay on the screen.
        sys.stdout.write(_CLOSE + "".join(f"{line}\n" for line in final))
        sys.stdout.flush()


def _draw(lines: Sequence[str], trouble: str) -> None:
    size = shutil.get_terminal_size()
    shown = [*lines[: size.lines - 2], trouble and clipped(trouble, size.columns)]
    text = "".join(f"{line}{_END_OF_LINE}\n" for line in shown)
    sys.stdout.write(_HOME + text + _REST)
    sys.stdout.flush()
