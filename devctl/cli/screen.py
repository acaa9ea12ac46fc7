"""What a terminal can show: colours, and a line that changes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any, Self

import click

if TYPE_CHECKING:
    from types import TracebackType

_COLOURS = {
    "Running": "green",
    "Succeeded": "green",
    "Failed": "red",
    "Pending": "yellow",
    "Starting": "yellow",
}
_CLEAR = "\r\x1b[K"


def is_terminal(stream: Any) -> bool:
    """Whether a person looks at a stream, on a terminal that can do more than print."""
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"


def coloured(phase: str) -> str:
    """A phase in its colour, where standard output shows colours and nobody declined them."""
    colour = _COLOURS.get(phase)
    if colour is None or not is_terminal(sys.stdout) or os.environ.get("NO_COLOR"):
        return phase
    return click.style(phase, fg=colour)


def columns(stream: Any) -> int:
    """How many characters a line of a terminal has; 0 where a stream is none."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else 0


def clipped(text: str, width: int) -> str:
    """A text in so many characters.

    >>> clipped("Unschedulable", 6)
    'Unsch…'
    """
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"


class LiveLine:
    """One line on standard error that says what is going on.

    On a terminal it is written over and leaves nothing behind; elsewhere each new text is a line.
    """

    def __init__(self) -> None:
        """Show nothing yet."""
        self._live = is_terminal(sys.stderr)
        self._text = ""
        self._since = time.monotonic()

    def __enter__(self) -> Self:
        """Begin to count the seconds."""
        self._since = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the line away."""
        if self._live and self._text:
            self._write(_CLEAR)

    def show(self, text: str) -> None:
        """Show another text."""
        from devctl.cli.tables import printable  # noqa: PLC0415 - it imports this

        text = printable(text)
        if self._live:
            passed = f" ({time.monotonic() - self._since:.0f} s)"
            width = columns(sys.stderr) - 1
            self._write(_CLEAR + clipped(text, max(0, width - len(passed))) + passed[:width])
        elif text != self._text:
            click.echo(text, err=True)
        self._text = text

    def again(self) -> None:
        """Show the same text with the seconds of now."""
        if self._live and self._text:
            self.show(self._text)

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
