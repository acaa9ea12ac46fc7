"""Lists, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from devctl.client.workers.api import Api
    from devctl.client.workers.writing import Query

T_co = TypeVar("T_co", covariant=True)
SIZE = 200
"""Items that are asked for at once."""


class Page(Protocol[T_co]):
    """A part of a list."""

    @property
    def items(self) -> Sequence[T_co]:
        """What is in it."""

    @property
    def next_cursor(self) -> str | None:
        """Where the next part begins; None for the last one."""


def all_pages(
    api: Api, kind: type[Page[T_co]], path: str, query: Query | None = None
) -> Iterator[T_co]:
    """The items of a list; each page is asked for when it is reached."""
    cursor: str | None = None
    while True:
        asked = {"limit": SIZE, "cursor": cursor, **(query or {})}
        found = api.call(kind, "GET", path, asked, repeat=True)
        yield from found.items
        cursor = found.next_cursor
        if cursor is None:
            return
