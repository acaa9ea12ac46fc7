"""What several processes of one run of the tests share: a cluster, and what is done to it once."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TextIO

T = TypeVar("T")


class Shared:
    """Files in a folder of the run's, each with a number and a lock of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def once(self, action: Callable[..., object], *args: object, name: str = "") -> None:
        """Do something unless another process has done it; whoever comes meanwhile waits.

        What is done with several things has a name for each.
        """
        with self._locked(name or action.__name__) as file:
            if not _number(file):
                action(*args)
                _write(file, 1)

    def alone(self, action: Callable[..., T], *args: object) -> T:
        """Do something while no other process does it; what it gives."""
        with self.held(action.__name__):
            return action(*args)

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """A time in which no other process holds the same."""
        with self._locked(name):
            yield

    @contextmanager
    def between(
        self, name: str, first: Callable[[], object], last: Callable[[], object]
    ) -> Iterator[None]:
        """A time that processes share: who comes first begins it, who goes last ends it."""
        with self._locked(name) as file:
            if not (there := _number(file)):
                first()
            _write(file, there + 1)
        try:
            yield
        finally:
            with self._locked(name) as file:
                _write(file, left := _number(file) - 1)
                if not left:
                    last()

    @contextmanager
    def _locked(self, name: str) -> Iterator[TextIO]:
        with (self.folder / name).open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file


def _number(file: TextIO) -> int:
    file.seek(0)
    return int(file.read() or 0)


def _write(file: TextIO, number: int) -> None:
    file.truncate(0)
    file.write(str(number))
    file.flush()
