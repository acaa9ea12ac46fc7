"""Waiting for something in the cluster, with a line that says for what."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from devctl.cli.screen import LiveLine, is_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

_TICK = 1.0


def wanted(*, wait: bool | None) -> bool:
    """Whether to wait: as was asked for, else where a person looks on."""
    return is_terminal(sys.stdout) if wait is None else wait


@contextmanager
def live_line(name: str, first: str, goes_on: str) -> Iterator[LiveLine]:
    """A line about something that is waited for, from the start.

    Args:
        name: What is waited for.
        first: What is said of it before anything is known.
        goes_on: What is said where the person stops waiting with Ctrl-C.
    """
    over = threading.Event()
    with LiveLine() as line:
        line.show(f"{name}: {first}")
        ticker = threading.Thread(target=_tick, args=(line, over), daemon=True)
        ticker.start()
        try:
            yield line
        except KeyboardInterrupt:
            over.set()
            line.show("")
            click.echo(f"\n{goes_on}" if is_terminal(sys.stderr) else goes_on, err=True)
            raise
        finally:
            over.set()
            ticker.join()


def _tick(line: LiveLine, over: threading.Event) -> None:
    while not over.wait(_TICK):
        line.again()
