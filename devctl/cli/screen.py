"""What a terminal can show: colours, and a line that changes."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from typing import Any, Self

import click

from devctl.text import one_line

_COLOURS = {
    "Running": "green",
    "Serving": "green",
    "Succeeded": "green",
    "Failed": "red",
    "Pending": "yellow",
    "Starting": "yellow",
}
_CLEAR = "\r\x1b[K"


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal that can do more than print."""
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"


def coloured(phase: str) -> str:
    """A phase in its colour."""
    return painted(phase, _COLOURS.get(phase))


def painted(text: str, colour: str | None) -> str:
    """A text in a colour, if standard output is to have colours."""
    return click.style(text, fg=colour) if colour and _colours() else text


def _colours() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    from devctl.client.settings import preferred  # noqa: PLC0415 - not for --help

    wanted, _ = preferred("color")
    if wanted == "always" and (context := click.get_current_context(silent=True)):
        # Else click strips them off a terminal.
        context.color = True
    return wanted == "always" or (wanted != "never" and is_terminal(sys.stdout))


def columns(stream: Any) -> int:
    """The width of a terminal; 0 for other streams."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else 0


def clipped(text: str, width: int) -> str:
    """A text cut to a width.

    >>> clipped("Unschedulable", 6)
    'Unsch…'
    """
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"


class LiveLine:
    """A line on standard error that says what is going on.

    On a terminal each text replaces the last and nothing stays; elsewhere each new text is a line.
    """

    def __init__(self) -> None:
        """Show nothing yet."""
        self._live = is_terminal(sys.stderr)
        self._text = ""
        self._since = time.monotonic()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Start counting seconds."""
        self._since = time.monotonic()
        return self

    def __exit__(self, *_error: object) -> None:
        """Remove the line."""
        self.clear()

    def clear(self) -> None:
        """Remove the line until the next text."""
        with self._lock:
            if self._live and self._text:
                self._write(_CLEAR)
            self._text = ""

    def show(self, text: str) -> None:
        """Show a text."""
        with self._lock:
            text, last = one_line(text), self._text
            self._text = text
            if self._live:
                self._draw()
            elif text != last:
                click.echo(text, err=True)

    def again(self) -> None:
        """Update the seconds behind the text."""
        with self._lock:
            if self._live and self._text:
                self._draw()

    def _draw(self) -> None:
        passed = f" ({time.monotonic() - self._since:.0f} s)"
        # A full line would wrap, and its first part would stay.
        width = max(0, columns(sys.stderr) - 1)
        self._write(_CLEAR + clipped(self._text, max(0, width - len(passed))) + passed[:width])

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
