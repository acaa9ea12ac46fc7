"""How many files, and of how many bytes, in words; and to whom that is told beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_STEP = 1000
_BLOCK = 512
"""Bytes of a block of a tar archive; each file begins with one, and fills up its last one."""


@runtime_checkable
class Expecting(Protocol):
    """What wants to know beforehand how many bytes it will be told of."""

    def expect(self, count: int) -> None:
        """That so many more bytes are going to move."""


def expect(
    progress: Callable[[int], None] | None, sizes: Iterable[int], *, packed: bool = False
) -> None:
    """Tell beforehand how much is going to move, if somebody wants to know.

    Args:
        progress: Takes the number of bytes that have just moved.
        sizes: Those of the files.
        packed: Whether it is told of an archive's bytes, and not of the files' own.
    """
    if isinstance(progress, Expecting):
        progress.expect(sum(map(packed_size, sizes) if packed else sizes))


def packed_size(size: int) -> int:
    """About how many bytes a file has in a tar archive.

    >>> packed_size(0), packed_size(1), packed_size(512)
    (512, 1024, 1024)
    """
    return _BLOCK + -(-size // _BLOCK) * _BLOCK


def amount(size: float) -> str:
    """A number of bytes for a person.

    >>> amount(5), amount(34_000), amount(1_250_000)
    ('5 B', '34 KB', '1.2 MB')
    """
    value, unit = float(size), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if value < _STEP - 0.5:
            break
        value, unit = value / _STEP, larger
    short = unit == "B" or value >= 9.95  # noqa: PLR2004 - two digits say enough
    return f"{value:.0f} {unit}" if short else f"{value:.1f} {unit}"


def sent(files: int, size: int) -> str:
    """What was sent.

    >>> sent(1, 5), sent(2, 34_000)
    ('1 file, 5 B sent', '2 files, 34 KB sent')
    """
    return f"{files:,} file{'' if files == 1 else 's'}, {amount(size)} sent"
