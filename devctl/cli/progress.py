"""How many bytes have moved, on a line that changes."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from devctl.cli.screen import LiveLine, is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EVERY = 0.1
"""Seconds between two looks of the line: more often nobody sees."""


@contextmanager
def transferred(word: str = "moved") -> Iterator[Callable[[int], None] | None]:
    """What takes the number of bytes that were just moved; None where no person looks on."""
    if not is_terminal(sys.stderr):
        yield None
        return
    from devctl.client.files.sync import amount  # noqa: PLC0415 - heavy

    total, shown = 0, 0.0
    start = time.monotonic()
    with LiveLine() as line:

        def add(count: int) -> None:
            nonlocal total, shown
            total += count
            now = time.monotonic()
            if now - shown >= _EVERY:
                shown = now
                speed = total / max(now - start, _EVERY)
                line.show(f"{amount(total)} {word}, {amount(speed)}/s")

        yield add
