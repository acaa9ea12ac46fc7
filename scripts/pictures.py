"""Pictures of terminals for the documentation: the commands really run.

A terminal of our own (pyte) takes what a command writes, progress and all, and rich draws what is
on it in the end. scripts/pictures.toml has the sessions.

usage: pictures.py [NAME...]
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import tomllib
from io import StringIO
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

PROJECT = Path(__file__).parents[1]
SESSIONS = PROJECT / "scripts/pictures.toml"
FOLDER = PROJECT / "docs/pictures"
COLUMNS = 88
LINES = 200
"""More than any session has: what scrolls away is not in its picture."""

_FONT = re.compile(r"@font-face \{\{?.*?\}\}?\s*", re.DOTALL)
"""rich's picture asks a foreign host for its font."""


class Terminal:
    """A screen, and what was typed and written on it."""

    def __init__(self) -> None:
        """Begin with an empty one."""
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)

    def run(self, line: str) -> None:
        """Show a command, run it in a shell, and take what it writes.

        Raises:
            SystemExit: It failed: a picture shows what works.
        """
        self._stream.feed(f"\x1b[1m$ {line}\x1b[0m\r\n".encode())
        outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = os.environ | {"TERM": "xterm-256color", "PATH": path}
        command = ["sh", "-c", line]
        with subprocess.Popen(
            command, stdin=inner, stdout=inner, stderr=inner, env=environment, cwd=PROJECT
        ) as process:
            os.close(inner)
            while written := _read(outer):
                self._stream.feed(written)
        os.close(outer)
        if process.returncode:
            sys.exit(f"`{line}` failed with {process.returncode}:\n{self.text().plain}")

    def text(self) -> Text:
        """What is on the screen, with its colours, as far as it is used."""
        rows = [self._row(number) for number in range(LINES)]
        used = max((number for number, row in enumerate(rows) if row.plain.strip()), default=0)
        return Text("\n").join(rows[: used + 1])

    def _row(self, number: int) -> Text:
        row = Text()
        chars = [self._screen.buffer[number][column] for column in range(COLUMNS)]
        for style, same in groupby(chars, _style):
            row.append("".join(char.data for char in same), style)
        row.rstrip()
        return row


def _read(descriptor: int) -> bytes:
    """What comes next; nothing once the last program that held the terminal has ended."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def _style(char: pyte.screens.Char) -> Style:
    colour = {"brown": "yellow"}.get(char.fg, char.fg)
    if colour == "default":
        colour = ""
    elif re.fullmatch("[0-9a-f]{6}", colour):
        colour = f"#{colour}"
    elif colour.startswith("bright"):
        colour = f"bright_{colour.removeprefix('bright').lstrip('_')}"
    return Style(color=colour or None, bold=char.bold, italic=char.italics)


def draw(name: str, lines: list[str], title: str) -> Path:
    """Run a session and write its picture.

    Args:
        name: Of the file.
        lines: Its commands.
        title: What stands above the terminal.
    """
    terminal = Terminal()
    for line in lines:
        terminal.run(line)
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    console.print(terminal.text())
    path = FOLDER / f"{name}.svg"
    FOLDER.mkdir(parents=True, exist_ok=True)
    # A fixed id: a session that prints the same is the same file.
    svg = console.export_svg(title=title, unique_id=f"terminal-{name}")
    path.write_text(_FONT.sub("", svg).replace("Fira Code", "monospace"))
    return path


def main() -> None:
    """Draw those that are named, or all."""
    sessions = tomllib.loads(SESSIONS.read_text())
    for name in sys.argv[1:] or sessions:
        path = draw(name, sessions[name]["commands"], sessions[name]["title"])
        print(path.relative_to(PROJECT))


if __name__ == "__main__":
    main()
