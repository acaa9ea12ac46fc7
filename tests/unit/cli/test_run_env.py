"""Variables for a run, and how secrets get in."""

from __future__ import annotations

import doctest
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devctl.cli import run_line
from devctl.cli.run_line import parse, variables
from devctl.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILE = """\
# what the training reports to
WANDB_PROJECT=digits

export MODE = offline
QUOTED="a b # c"
SINGLE='${HOME} "x" \\n'
EMPTY=
EQUALS=a=b
"""


def test_examples() -> None:
    assert doctest.testmod(run_line).failed == 0


def test_a_file_of_variables_is_read() -> None:
    assert parse(FILE) == {
        "WANDB_PROJECT": "digits",
        "MODE": "offline",
        "QUOTED": "a b # c",
        "SINGLE": '${HOME} "x" \\n',
        "EMPTY": "",
        "EQUALS": "a=b",
    }


@pytest.mark.parametrize(
    "line",
    [
        *("A", "=x", "A B=x", "1A=x", "A='x", "A=x'", 'A="x" y', "A=x # y", "A=${B}", "A=$(id)"),
        *('A="$B"', 'A="x\\ny"', "A='x'y'", "A=`id`", "export"),
    ],
)
def test_a_line_that_others_read_in_another_way_is_refused_and_not_shown(line: str) -> None:
    with pytest.raises(
        UsageError, match=r"^line 2 of `x/\.env` is not a plain NAME=VALUE$"
    ) as raised:
        parse(f"GOOD=1\n{line}\n", "x/.env")
    assert "single quotes" in raised.value.fix


@settings(max_examples=50)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"])))
def test_single_quotes_keep_a_value_as_it_is(value: str) -> None:
    if "'" not in value:
        assert parse(f"A='{value}'") == {"A": value}


def test_the_last_that_is_said_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "own")
    (tmp_path / "one").write_text("A=file\nB=file\nTOKEN=file\n")
    (tmp_path / "two").write_text("\ufeffB=two\n")
    files = [str(tmp_path / name) for name in ("one", "two")]
    found = variables(["A=line", "C=a=b "], files, ["TOKEN"])
    assert found == {"A": "line", "B": "two", "C": "a=b ", "TOKEN": "own"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (([" A=x"], [], []), "is not the name of a variable"),
        ((["A"], [], []), "--env `A` has no value"),
        (([], [], ["TOKEN=x"]), "--secret takes a name only: `TOKEN`"),
        (([], [], ["TO-KEN"]), "is not the name of a variable"),
        (([], [], ["TOKEN"]), "`TOKEN` is not set, and there is no terminal to ask on"),
        (([], ["/no/such"], []), "there is no file `/no/such` here"),
        (([], [sys.executable], []), "is not UTF-8"),
    ],
)
def test_what_gives_no_variables_is_told(
    line: tuple[list[str], list[str], list[str]], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOKEN", raising=False)
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115, PTH123 - of the test
    with pytest.raises((UsageError, NotFoundError), match=said):
        variables(*line)


def test_a_secret_that_is_not_set_is_asked_for_without_echo(
    monkeypatch: pytest.MonkeyPatch, terminal: Callable[..., object]
) -> None:
    terminal()
    monkeypatch.setenv("TOKEN", "")
    monkeypatch.setattr("sys.stdin", sys.stderr)
    asked = []

    def ask(prompt: str, _stream: object = None) -> str:
        asked.append(prompt)
        return "sesame"

    monkeypatch.setattr("click.termui.hidden_prompt_func", ask)
    assert variables([], [], ["TOKEN"]) == {"TOKEN": "sesame"}
    assert asked == ["TOKEN: "]
