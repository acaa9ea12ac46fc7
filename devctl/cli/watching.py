"""Looking again and again: a picture that changes on a terminal, new lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

import click

from devctl.cli.screen import clipped, columns, is_terminal
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError
from devctl.text import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Seen = TypeVar("Seen")

_OPEN, _CLOSE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""Another page of the terminal without a cursor, and back to what was there."""
_HOME, _END_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"


class Watching(Generic[Seen]):
    """Something that is looked at until Ctrl-C.

    Args:
        look: Asks the cluster.
        show: What was seen as the lines of a picture, for a width.
        tell: What is printed off a terminal of what was seen, given what was seen before it.
        every: Seconds between two looks.
    """

    def __init__(
        self,
        look: Callable[[], Seen],
        show: Callable[[Seen, int], Sequence[str]],
        tell: Callable[[Seen, Seen | None], Sequence[str]],
        every: float,
    ) -> None:
        """Look at nothing yet."""
        self._look, self._show, self._tell, self._every = look, show, tell, every

    def run(self) -> NoReturn:
        """Look until Ctrl-C.

        Raises:
            DevctlError: The first look failed, or it is gone, or may not be looked at any more.
        """
        live = is_terminal(sys.stdout)
        seen: Seen | None = None
        with page() if live else _nothing() as final:
            while True:
                trouble = ""
                try:
                    now = self._look()
                except (DeniedError, NotFoundError, UsageError):
                    raise
                except DevctlError as error:
                    if seen is None:
                        raise
                    trouble, now = f"{error.message}; it is tried again", seen
                if live:
                    final[:] = drawn(self._show(now, columns(sys.stdout)), trouble)
                else:
                    for line in [trouble] if trouble else self._tell(now, seen):
                        click.echo(readable(line), err=bool(trouble))
                    sys.stdout.flush()
                seen = now
                time.sleep(self._every)


def drawn(lines: Sequence[str], trouble: str) -> list[str]:
    """Draw lines from the top of the page; what was drawn."""
    size = shutil.get_terminal_size()
    shown = [*lines[: size.lines - 2], *([trouble and clipped(trouble, size.columns)])]
    text = "".join(f"{line}{_END_OF_LINE}\n" for line in shown)
    sys.stdout.write(_HOME + text + _REST)
    sys.stdout.flush()
    return list(lines)


@contextmanager
def page() -> Iterator[list[str]]:
    """A page of its own; what it showed last stays on the screen."""
    final: list[str] = []
    sys.stdout.write(_OPEN)
    try:
        yield final
    finally:
        sys.stdout.write(_CLOSE + "".join(f"{line}\n" for line in final))
        sys.stdout.flush()


@contextmanager
def _nothing() -> Iterator[list[str]]:
    yield []
