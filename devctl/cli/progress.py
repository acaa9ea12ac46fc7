"""How many bytes have moved, of how many, and how long the rest takes, on a line that changes."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from devctl.cli.screen import LiveLine, is_terminal
from devctl.cli.times import span

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVERY = 0.1
"""Seconds between two looks of the line: more often nobody sees."""
_SOON = 2.0
"""Seconds after which the speed says how long the rest takes."""


class Moved:
    """Counts bytes; called with the number of those that have just moved."""

    def __init__(self, line: LiveLine, word: str) -> None:
        """Nothing has moved, and nothing is expected yet."""
        self._line, self._word = line, word
        self._done = self._expected = 0
        self._shown, self._start = 0.0, time.monotonic()

    def expect(self, count: int) -> None:
        """That so many more bytes are going to move."""
        if not self._done:
            # What was looked at before anything moved is no part of the speed.
            self._start = time.monotonic()
        self._expected += count

    def __call__(self, count: int) -> None:
        """Count, and show it from time to time."""
        self._done += count
        now = time.monotonic()
        if now - self._shown >= _EVERY:
            self._shown = now
            self._line.show(said(self._done, self._expected, now - self._start, self._word))


def said(done: int, expected: int, seconds: float, word: str = "moved") -> str:
    """How far a transfer is.

    Args:
        done: Bytes that have moved.
        expected: Bytes that are going to move in all, about; 0 where that is not known.
        seconds: How long that has taken.
        word: What is done with them.

    >>> said(300_000_000, 1_200_000_000, 30.0)
    '300 MB of 1.2 GB moved (25%), 10 MB/s, 90s left'
    >>> said(34_000, 0, 1.0, "sent")
    '34 KB sent, 34 KB/s'
    """
    from devctl.client.files.transfer import amount  # noqa: PLC0415 - heavy

    speed = done / max(seconds, _EVERY)
    if not expected:
        return f"{amount(done)} {word}, {amount(speed)}/s"
    # An archive is a little larger than it was said to be.
    share = min(99, 100 * done // expected)
    text = f"{amount(done)} of {amount(max(done, expected))} {word} ({share}%), {amount(speed)}/s"
    if seconds < _SOON or done >= expected:
        return text
    return f"{text}, {span(timedelta(seconds=round((expected - done) / speed)))} left"


@contextmanager
def transferred(word: str = "moved") -> Iterator[Moved | None]:
    """What takes the number of bytes that were just moved; None where no person looks on."""
    if not is_terminal(sys.stderr):
        yield None
        return
    with LiveLine() as line:
        yield Moved(line, word)
