"""What has to go so that something else has room. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class Held(NamedTuple):
    """A mirror, or one revision of a model, on the disk."""

    path: str
    """In the cache's folder."""
    length: int
    """Its bytes."""
    last_used: float
    """When a container was last seen with it, or it was written."""


class Limits(NamedTuple):
    """How much of a disk the cache may take."""

    most: int
    """Bytes of all that it holds."""
    free: int
    """Bytes of the file system that stay free, so that the kubelet evicts nobody."""


def room(limits: Limits, held: int, free: int) -> int:
    """The bytes that the cache may still take.

    >>> room(Limits(most=100, free=10), held=30, free=50)
    40
    """
    return max(0, min(limits.most - held, free - limits.free))


def victims(
    held: Iterable[Held], lacking: int, wanted: Collection[str], used: Collection[str] | None
) -> list[Held] | None:
    """What to remove for so many bytes, least recently used first; None if that cannot be had.

    Args:
        held: All that the cache holds.
        lacking: The bytes that are lacking.
        wanted: Paths that the plan wants.
        used: Paths that containers have mounted; None if that is unknown, so that nothing goes.
    """
    found: list[Held] = []
    if lacking <= 0:
        return found
    for each in sorted(held, key=lambda each: (each.last_used, each.path)):
        if used is None or each.path in wanted or is_used(each.path, used):
            continue
        found.append(each)
        lacking -= each.length
        if lacking <= 0:
            return found
    return None


def is_used(path: str, used: Collection[str]) -> bool:
    """Whether a mount shows a path: it itself, a folder above it, or something in it.

    >>> is_used("git/a", {"git"}), is_used("git/a", {"git/ab"}), is_used("git/a", {""})
    (True, False, True)
    """
    return any(
        not each or path == each or path.startswith(f"{each}/") or each.startswith(f"{path}/")
        for each in used
    )
