"""Running the command line in this process, with an API server in memory."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from devctl.__main__ import main
from devctl.cli import shared_options
from unit.client.fake_cluster import FakeApi
from unit.client.objects import NOW

if TYPE_CHECKING:
    from collections.abc import Callable

    Devctl = Callable[..., "Outcome"]


class Outcome(NamedTuple):
    """What a person sees of a command."""

    code: int
    stdout: str
    stderr: str


def outcome(run: Callable[[], object], capfd: pytest.CaptureFixture[str]) -> Outcome:
    """What a person sees of a program that ends with an exit code."""
    with pytest.raises(SystemExit) as raised:
        run()
    assert isinstance(raised.value.code, int)
    return Outcome(raised.value.code, *capfd.readouterr())


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is NOW, and nobody has asked for more words."""
    monkeypatch.setattr("devctl.cli.times.now", lambda: NOW)
    monkeypatch.setattr(shared_options, "_asked", 0)
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """The API server that commands reach, empty."""
    from devctl.kube.cluster import Cluster  # noqa: PLC0415 - heavy

    found = FakeApi()
    monkeypatch.setattr(Cluster, "connect", found.connect)
    return found


@pytest.fixture
def devctl(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Devctl:
    """Run the command line as a program would, without starting one; `typed` is standard input."""

    def run(*arguments: str, typed: str = "") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["devctl", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        return outcome(main, capfd)

    return run


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        # No real one: sizes come from COLUMNS and LINES.
        raise OSError


class Tty(io.TextIOWrapper):
    """A terminal that takes bytes, too."""

    def __init__(self) -> None:
        self._taken = io.BytesIO()
        super().__init__(self._taken, write_through=True)

    def isatty(self) -> bool:
        return True

    def written(self) -> bytes:
        """What it has got."""
        return self._taken.getvalue()


@pytest.fixture
def tty(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Tty]:
    """Make standard output and standard error one terminal; and get it."""

    def make() -> Tty:
        found = Tty()
        monkeypatch.setattr(sys, "stdout", found)
        monkeypatch.setattr(sys, "stderr", found)
        return found

    return make


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Terminal, Terminal]]:
    """Make standard output and standard error terminals of a size; and get them."""

    def make(width: int = 80, lines: int = 24) -> tuple[Terminal, Terminal]:
        monkeypatch.setitem(os.environ, "COLUMNS", str(width))
        monkeypatch.setitem(os.environ, "LINES", str(lines))
        found = Terminal(), Terminal()
        monkeypatch.setattr(sys, "stdout", found[0])
        monkeypatch.setattr(sys, "stderr", found[1])
        return found

    return make
