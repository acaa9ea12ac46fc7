"""Lists, in pages."""

from __future__ import annotations

from typing import Generic, TypeVar

from pydantic import BaseModel, Field

Item = TypeVar("Item")


class PageOf(BaseModel, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    next_cursor: str | None = Field(
        default=None, description="The parameter `cursor` of the next page; null for the last one."
    )
