"""The command line of a run, and what becomes of it."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING

import pytest

from devctl.cli import run_line
from devctl.cli.run_line import marked
from devctl.client.runs import command
from devctl.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_examples() -> None:
    assert doctest.testmod(run_line).failed == 0


@pytest.mark.parametrize("folder", ["/", "~", ".config"])
def test_a_folder_that_is_no_project_is_refused(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".config").mkdir()
    for file in (tmp_path / "train.py", tmp_path / ".config/train.py"):
        file.touch()
    if folder == "/":
        with pytest.raises(NotFoundError, match=r"there is no file `/train.py` here"):
            command.local_script("/train.py")
        return
    with pytest.raises(UsageError, match=r"project|overwrite one of the home's own"):
        command.local_script(f"{folder}/train.py")
    with pytest.raises(UsageError, match=r"project|overwrite one of the home's own"):
        command.local_script(f"{folder}/train.py", workdir=folder)


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("lab -m pkg.train -d", "lab -m pkg.train -- -d"),
        ("-m pkg.train -d lab -n 3", "-m pkg.train -d lab -- -n 3"),
        ("-mpkg.train lab -n 3", "-mpkg.train lab -- -n 3"),
        ("lab --module=pkg.train -- x", "lab --module=pkg.train -- -- x"),
        ("lab -d -- make -n", "lab -d -- make -n"),
        ("lab train.py -d", "lab train.py -- -d"),
        ("-d lab -n team train.py -n 3", "-d lab -n team train.py -- -n 3"),
        ("-nteam lab train.py --help", "-nteam lab train.py -- --help"),
        ("lab --help", "lab --help"),
        ("lab -n", "lab -n"),
        ("-- lab -d", "-- lab -d"),
        ("lab - -d", "lab - -- -d"),
    ],
)
def test_options_behind_the_script_are_its_own(line: str, ours: str) -> None:
    assert marked(line.split(), {"-n", "--namespace", "-m"}).args == ours.split()


def test_a_command_behind_two_dashes_is_of_any_kind() -> None:
    assert marked(["lab", "--", "make"], set()).any
    for line in (["--", "lab", "train.py"], ["lab", "x.py"], ["lab", "-m", "x", "--", "y"]):
        assert not marked(line, {"-m"}).any


@pytest.mark.parametrize(
    ("name", "distributed", "argv"),
    [
        ("train.py", False, ["python", "-u", "./train.py", "-x"]),
        ("-go.sh", False, ["./-go.sh", "-x"]),
        ("train.py", True, [*command.TORCHRUN, "./train.py", "-x"]),
        ("go.sh", True, [*command.TORCHRUN, "--no-python", "./go.sh", "-x"]),
    ],
)
def test_a_script_is_run_as_what_it_is(name: str, distributed: bool, argv: list[str]) -> None:  # noqa: FBT001
    assert command.Command(name, ".").argv(["-x"], distributed=distributed) == argv


@pytest.mark.parametrize("distributed", [False, True])
def test_modules_are_pythons_and_other_commands_their_own(distributed: bool) -> None:  # noqa: FBT001
    words = command.Command("a.b", ".", None, command.Kind.MODULE)
    python = [*command.TORCHRUN] if distributed else ["python", "-u"]
    assert words.argv(["x"], distributed=distributed) == [*python, "-m", "a.b", "x"]
    words = command.Command("x.py", ".", None, command.Kind.COMMAND)
    assert words.argv(["x"], distributed=distributed) == ["x.py", "x"]


def test_torchrun_starts_again_what_it_runs() -> None:
    script = command.Command("train.sh", ".")
    again = [*command.TORCHRUN, "--max-restarts", "3", "--no-python", "./train.sh", "x"]
    assert script.argv(["x"], distributed=True, restarts=3) == again
    make = command.Command("make", ".", None, command.Kind.COMMAND)
    for words, distributed in ((script, False), (make, True), (make, False)):
        with pytest.raises(UsageError, match="--max-restarts is torchrun's"):
            words.argv([], distributed=distributed, restarts=0)
