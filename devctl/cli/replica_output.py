"""The output of replicas, line by line, with the replica's number in front."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from devctl.cli.screen import is_terminal
from devctl.text import RESET, Screen

if TYPE_CHECKING:
    from collections.abc import Iterable

_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")
_LONGEST = 1 << 20
"""Bytes after which a line without end is shown in parts."""


class ReplicaOutput:
    """Prints what several replicas print as whole lines with a prefix, one alone as it is.

    Output is bytes, as programs need not print text. A terminal gets only what devctl.text allows.
    """

    def __init__(self, replicas: Iterable[int]) -> None:
        """Nothing is printed yet."""
        replicas = sorted(replicas)
        self._prefixes = {replica: _prefix(replica, replicas[-1]) for replica in replicas}
        self._plain = len(replicas) == 1
        self._begun: dict[int, bytes] = {}
        self._screens = {replica: Screen() for replica in replicas} if sys.stdout.isatty() else {}

    def add(self, replica: int, data: bytes) -> None:
        """Take output of a replica."""
        self._add(replica, self._screens[replica].take(data) if self._screens else data)

    def _add(self, replica: int, data: bytes) -> None:
        if self._plain:
            _to_standard_output(data)
            return
        # A progress bar returns to the start of its line: each of its states is a line here.
        text = self._begun.pop(replica, b"") + data
        held = b""
        if text.endswith(b"\r"):
            text, held = text[:-1], b"\r"
        lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest = lines.pop() + held
        if len(rest) > _LONGEST:
            lines.append(rest)
            rest = b""
        if rest:
            self._begun[replica] = rest
        self._lines(replica, lines)

    def end(self, replica: int) -> None:
        """Print the unfinished line of a replica that prints no more."""
        if self._screens:
            last = self._screens[replica].end()
            self._add(replica, last if self._plain else last.removesuffix(RESET))
        if rest := self._begun.pop(replica, b""):
            self._lines(replica, [rest.removesuffix(b"\r")])

    def end_all(self) -> None:
        """Print all unfinished lines."""
        for replica in self._prefixes:
            self.end(replica)

    def _lines(self, replica: int, lines: list[bytes]) -> None:
        prefix = self._prefixes[replica]
        if lines:
            _to_standard_output(b"".join(prefix + self._closed(line) + b"\n" for line in lines))

    def _closed(self, line: bytes) -> bytes:
        """A line whose colours end with it."""
        return line + RESET if self._screens and b"\x1b" in line else line


def _prefix(replica: int, last: int) -> bytes:
    text = f"[{replica}]".rjust(len(str(last)) + 2)
    if is_terminal(sys.stdout) and not os.environ.get("NO_COLOR"):
        text = click.style(text, fg=_COLOURS[replica % len(_COLOURS)])
    return f"{text} ".encode()


def _to_standard_output(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
