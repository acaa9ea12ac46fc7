"""What is said of transfers: their progress, on a line that changes, and what was left out."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from devctl.cli.screen import LiveLine, is_terminal
from devctl.cli.times import span
from devctl.client.files.names import GIT_FIX, named
from devctl.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from devctl.client.files.copy import Copied
    from devctl.client.files.sync import Synced

_EVERY = 0.1
"""Seconds between two updates of the line."""
_SOON = 2.0
"""Seconds after which the speed is good enough to estimate the rest."""


class Moved:
    """Counts bytes; called with the number that has just moved."""

    def __init__(self, line: LiveLine, word: str) -> None:
        """Expect nothing yet."""
        self._line, self._word = line, word
        self._done = self._expected = 0
        self._shown, self._start = 0.0, time.monotonic()

    def expect(self, count: int) -> None:
        """Expect so many bytes more."""
        if not self._done:
            # Preparation does not count towards the speed.
            self._start = time.monotonic()
        self._expected += count

    def __call__(self, count: int) -> None:
        """Count bytes, and show the sum from time to time."""
        self._done += count
        now = time.monotonic()
        if now - self._shown >= _EVERY:
            self._shown = now
            self._line.show(said(self._done, self._expected, now - self._start, self._word))


def said(done: int, expected: int, seconds: float, word: str = "moved") -> str:
    """How far a transfer of about `expected` bytes is; 0 if that is not known.

    >>> said(300_000_000, 1_200_000_000, 30.0)
    '300 MB of 1.2 GB moved (25%), 10 MB/s, 90s left'
    >>> said(34_000, 0, 1.0, "sent")
    '34 KB sent, 34 KB/s'
    """
    from devctl.client.files.transfer import amount  # noqa: PLC0415 - heavy

    speed = done / max(seconds, _EVERY)
    if not expected:
        return f"{amount(done)} {word}, {amount(speed)}/s"
    # An archive is a little larger than announced.
    share = min(99, 100 * done // expected)
    text = f"{amount(done)} of {amount(max(done, expected))} {word} ({share}%), {amount(speed)}/s"
    if seconds < _SOON or done >= expected:
        return text
    return f"{text}, {span(timedelta(seconds=round((expected - done) / speed)))} left"


@contextmanager
def transferred(word: str = "moved") -> Iterator[Moved | None]:
    """Show the progress of a transfer; None off a terminal."""
    if not is_terminal(sys.stderr):
        yield None
        return
    with LiveLine() as line:
        yield Moved(line, word)


def tell_of_secrets(names: Sequence[str], *, hint: bool = True) -> None:
    """Say which files were not sent because they look like secrets."""
    if names:
        click.echo(f"left out, as they look like secrets: {named(names)}", err=True)
    if names and hint:
        click.echo("  --include-secrets sends them too, `devctl cp` a single one", err=True)


def tell_of_withheld(done: Synced | Copied) -> None:
    """Say which files were not sent or fetched: secrets, and what belongs to git repositories."""
    tell_of_secrets(done.secrets)
    found = done.git
    if found.files:
        what = f"{found.files:,} file{'s' if found.files > 1 else ''} of git"
        where = named(found.repositories)
        click.echo(
            f"left out: {what} ({where}), which could run programs here; {GIT_FIX}", err=True
        )


def tell_of_trouble(left_out: Sequence[str], changed: Sequence[str]) -> None:
    """Say what was left out and what changed while it was read; exit with code 1 if anything."""
    for what in left_out:
        click.echo(f"left out: {one_line(what)}", err=True)
    for what in changed:
        click.echo(f"changed while it was read: {one_line(what)}", err=True)
    if left_out or changed:
        click.get_current_context().exit(1)
