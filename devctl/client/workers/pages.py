"""Lists, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from devctl.client.workers.records import Page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.workers.api import Api, Query

T = TypeVar("T")
SIZE = 200
"""Items that are asked for at once."""


def all_pages(api: Api, kind: type[T], path: str, query: Query | None = None) -> Iterator[T]:
    """The items of a list; each page is asked for when it is reached."""
    cursor: str | None = None
    while True:
        asked = {"limit": SIZE, "cursor": cursor, **(query or {})}
        found = api.get(Page[kind], path, asked)  # type: ignore[valid-type]
        yield from found.items
        cursor = found.next_cursor
        if cursor is None:
            return
