"""Colours, the line that changes, waiting and progress: on a terminal and off it."""

from __future__ import annotations

import doctest
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
import pytest

from devctl.cli import progress, screen, waiting
from devctl.cli.list import COLUMNS
from devctl.cli.progress import transferred
from devctl.cli.results import print_items
from devctl.cli.screen import LiveLine, coloured
from devctl.cli.waiting import live_line, waits
from devctl.client.servers import Server
from unit.client.objects import server

if TYPE_CHECKING:
    from collections.abc import Callable

    from unit.cli.conftest import Terminal

    Terminals = Callable[..., tuple[Terminal, Terminal]]


def test_examples() -> None:
    assert doctest.testmod(screen).failed == 0


def test_colours_are_for_terminals(terminal: Terminals, monkeypatch: pytest.MonkeyPatch) -> None:
    assert coloured("Running") == "Running"
    terminal()
    assert coloured("Running") == "\x1b[32mRunning\x1b[0m"
    assert coloured("Stopped") == "Stopped"
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured("Running") == "Running"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert coloured("Running") == "Running"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_table_fits_its_terminal(width: int, terminal: Terminals) -> None:
    out, _ = terminal(width)
    long = server("a-server", "Pending", reason="Unschedulable")
    print_items([Server(long)], "table", COLUMNS, "devserver", empty="")
    lines = click.unstyle(out.getvalue()).splitlines()
    # Names are not cut, for they are copied.
    assert "a-server" in lines[1]
    assert all(len(line) <= max(width, 59) for line in lines)


def test_a_line_is_written_over_on_a_terminal(terminal: Terminals) -> None:
    _, err = terminal(30)
    with LiveLine() as line:
        line.show("first")
        line.show("second, which is far too long for it")
        line.again()
    shown = err.getvalue().split("\r\x1b[K")
    assert shown[1] == "first (0 s)"
    assert shown[2] == shown[3] == "second, which is far t… (0 s)"
    assert max(map(len, shown)) < 30
    assert shown[-1] == ""
    assert "\n" not in err.getvalue()


def test_off_a_terminal_each_new_text_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLine() as line:
        for text in ("one", "one", "two\x1b[31m\n"):
            line.show(text)
            line.again()
    assert capsys.readouterr() == ("", "one\ntwo\\x1b[31m\n")


def test_ctrl_c_says_what_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), live_line("lab", "asked for", "it goes on"):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "lab: asked for\nit goes on\n"


def test_seconds_pass_on_a_terminal(terminal: Terminals, monkeypatch: pytest.MonkeyPatch) -> None:
    _, err = terminal()
    monkeypatch.setattr(waiting, "_TICK", 0.001)
    with live_line("lab", "asked for", ""):
        while err.getvalue().count("asked for") < 3:
            pass
    assert err.getvalue().endswith("\r\x1b[K")


def test_waiting_is_for_those_who_look_on(terminal: Terminals) -> None:
    @click.command()
    @waits
    def show(*, wait: bool) -> bool:
        return wait

    def wanted(*line: str) -> Any:
        return show.main(list(line), standalone_mode=False)

    assert not wanted()
    assert wanted("--wait")
    terminal()
    assert wanted()
    assert not wanted("--no-wait")


def test_progress_is_for_terminals(terminal: Terminals) -> None:
    with transferred() as moved:
        assert moved is None
    _, err = terminal()
    with transferred("sent") as moved:
        assert moved
        moved(34_000)
    assert "34 KB sent" in err.getvalue()


def test_progress_says_how_much_is_left(
    terminal: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 5.0, 10.0, 20.0, 40.0, 60.0])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    _, err = terminal()
    with transferred("sent") as moved:
        assert moved
        moved.expect(60_000_000)
        moved.expect(60_000_000)
        moved(10_000_000)
        assert "10 MB of 120 MB sent (8%), 1.0 MB/s, 110s left" in err.getvalue()
        moved(90_000_000)
        moved(25_000_000)
    assert "125 MB of 125 MB sent (99%), 2.5 MB/s" in err.getvalue()


def test_examples_of_progress() -> None:
    assert doctest.testmod(progress).failed == 0
