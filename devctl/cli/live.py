"""A watch on the screen: a picture on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import sys
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from devctl.cli.screen import columns, is_terminal
from devctl.cli.sorting import sorter
from devctl.cli.tables import print_item, table_of
from devctl.cli.watching import drawn, page
from devctl.text import one_line, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from devctl.cli.tables import Column
    from devctl.client.objects import Named, Snapshot

Item = TypeVar("Item", bound="Named")

_TICK = 1.0
"""Seconds after which ages are drawn anew."""


def follow(
    seen: Iterator[Snapshot[Item]],
    show: Callable[[Sequence[Item], int], Sequence[str]],
    tell: Callable[[Sequence[Item], Sequence[Item] | None], Sequence[str]],
    *,
    lines: bool = False,
) -> NoReturn:
    """Show what there is until Ctrl-C.

    Args:
        seen: What there is, again at each change; never ends by itself.
        show: It as the lines of a picture, for a width.
        tell: What is printed where there is no picture, given what there was before.
        lines: Whether there is none on a terminal either.

    Raises:
        DevctlError: It cannot be looked at.
    """
    if is_terminal(sys.stdout) and not lines:
        _picture(seen, show)
    before: Sequence[Item] | None = None
    for snapshot in seen:
        if snapshot.trouble:
            click.echo(readable(snapshot.trouble), err=True)
        else:
            for line in tell(snapshot.items, before):
                click.echo(line)
            before = snapshot.items
        sys.stdout.flush()
    raise AssertionError  # pragma: no cover - what is watched does not end


def follow_table(
    seen: Iterator[Snapshot[Any]],
    output: str,
    columns: Sequence[Column],
    resource: str,
    sort_by: str,
) -> NoReturn:
    """Show a table, or print each object that is new or has changed.

    Args:
        seen: What there is, again at each change.
        output: One of FORMATS, or `jsonpath=` and a template.
        columns: Of the table.
        resource: What stands before names.
        sort_by: The order of the table; see devctl.cli.sorting.
    """
    shown = [column for column in columns if output == "wide" or not column.wide]
    order = sorter(sort_by, columns) if sort_by else None

    def in_order(items: Sequence[Any]) -> Sequence[Any]:
        return sorted(items, key=order) if order else items

    def show(items: Sequence[Any], width: int) -> list[str]:
        return table_of(in_order(items), shown, 0 if output == "wide" else width)

    def rows(items: Sequence[Any], before: Sequence[Any] | None) -> list[str]:
        found = in_order(items)
        title, *lines = table_of(found, shown, 0)
        new = {item.uid for item in changed(items, before)}
        told = [line for item, line in zip(found, lines, strict=True) if item.uid in new]
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

    if output in {"table", "wide"}:
        follow(seen, show, rows)
    follow(seen, show, documents, lines=True)


def changed(seen: Sequence[Item], before: Sequence[Item] | None) -> list[Item]:
    """The items that are new or not as they were."""
    old = {item.uid: item for item in before or []}
    return [item for item in seen if old.get(item.uid) != item]


def _picture(
    seen: Iterator[Snapshot[Item]], show: Callable[[Sequence[Item], int], Sequence[str]]
) -> NoReturn:
    found: SimpleQueue[Snapshot[Any] | BaseException] = SimpleQueue()
    threading.Thread(target=_into, args=(found, seen), daemon=True).start()
    now: Snapshot[Any] | None = None
    with page() as final:
        while True:
            try:
                news = found.get(timeout=_TICK)
            except Empty:
                news = now or found.get()
            if isinstance(news, BaseException):
                raise news
            now = news
            final[:] = drawn(show(now.items, columns(sys.stdout)), now.trouble)


def _into(found: SimpleQueue[Any], seen: Iterator[Snapshot[Any]]) -> None:
    try:
        for snapshot in seen:
            found.put(snapshot)
    except BaseException as error:  # noqa: BLE001 - raised where the person waits
        found.put(error)
