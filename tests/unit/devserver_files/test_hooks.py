"""Hooks as `stop` runs them: in real processes, with the record that they leave."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from devctl.api.hooks import MAX_HOOKS, MAX_OUTPUT, RECORD
from unit.devserver_files.test_stop import SHORT
from unit.patience import FOREVER, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unit.devserver_files.conftest import Container

KEPT_OF_RECORD = 4096
"""Bytes that the kubelet keeps of a termination message."""


class Hooks:
    """A server with hooks; what they leave behind is ended with the test.

    Its clock stands still unless a hook moves it. A hook's time begins when it makes the file
    `hears` in the home, which it does when it is ready for its end.
    """

    def __init__(self, container: Container) -> None:
        self.container = container
        self.folder = container.root / "opt/devctl-hooks"
        self.folder.mkdir()
        self.home = container.root / "home/dev"
        self.record = container.root / "dev/termination-log"
        self.record.write_text("what a program has written\n")
        self.clock = container.root / "proc/uptime"
        self.clock.write_text("100.00 1.00\n")
        naps = container.root / "naps"
        hears = f'while ! [ -e "{self.home}/hears" ]; do sleep 0.1; done'
        self.changes = {
            "nap() {": f'nap() {{\n  echo >>"{naps}"',
            'sleep "$2" &': f'{hears}\n  sleep "$2" &',
        }
        container.script("hooks", self.changes)

    def add(self, name: str, script: str, seconds: int = 20) -> None:
        (self.folder / f"{name}.hook").write_text(script)
        (self.folder / f"{name}.hook").chmod(0o555)
        with (self.folder / "list").open("a") as file:
            file.write(f"{name} {seconds}\n")

    def stop(self, **env: str) -> list[list[str]]:
        """Stop the server; the record's lines in words, of which the last is the seconds."""
        self.container.script("hooks", self.changes)
        assert self.container.run("stop", more=SHORT, env=env) == (0, "", "")
        first, *lines = self.record.read_text().removesuffix("\n").split("\n")
        assert first == RECORD
        assert len(self.record.read_bytes()) <= KEPT_OF_RECORD
        return [line.split(" ", 1) for line in lines]

    def naps(self) -> int:
        """How often anything of a hook was waited for, a moment each time."""
        return (self.container.root / "naps").read_text().count("\n")

    def pids(self) -> list[int]:
        """What hooks wrote into files called `pid`."""
        return [int(file.read_text()) for file in self.home.glob("pid*") if file.read_text()]


@pytest.fixture
def hooks(container: Container) -> Iterator[Hooks]:
    made = Hooks(container)
    yield made
    for pid in made.pids():
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def test_hooks_run_in_order_in_the_home_with_their_environment(hooks: Hooks) -> None:
    hooks.add("one", 'echo "$DEVCTL_HOOK $RANK $DEVCTL_SERVER $PWD" >>said\n')
    hooks.add("two", 'echo "$DEVCTL_HOOK" >>said\ncat\n')

    assert hooks.stop(RANK="1", DEVCTL_SERVER="lab") == [
        ["begin", "one"],
        ["end", "Succeeded 0 0"],
        ["begin", "two"],
        ["end", "Succeeded 0 0"],
    ]
    assert (hooks.home / "said").read_text() == f"one 1 lab {hooks.home}\ntwo\n"


def test_a_failure_has_its_code_and_its_output_and_the_next_hook_runs(hooks: Hooks) -> None:
    hooks.add("fails", "echo one\necho two >&2\nexit 7\n")
    hooks.add("next", "")

    assert hooks.stop() == [
        ["begin", "fails"],
        ["out", "one\x1etwo\x1e"],
        ["end", "Failed 7 0"],
        ["begin", "next"],
        ["end", "Succeeded 0 0"],
    ]


@pytest.mark.parametrize(
    ("script", "end"),
    [
        ("#!/usr/bin/env python3\nimport sys\nsys.exit(5)\n", "Failed 5"),
        ("#!/no/such/program\n", "Failed 127"),
        ("kill -KILL $$\n", "Failed 137"),
        ("no-such-command\n", "Failed 127"),
        ("exit 0\n\0\1\2", "Succeeded 0"),
    ],
)
def test_a_script_runs_in_its_own_program(hooks: Hooks, script: str, end: str) -> None:
    hooks.add("own", script)

    assert hooks.stop()[-1] == ["end", f"{end} 0"]


def test_programs_run_until_the_hooks_have_ended(hooks: Hooks) -> None:
    hooks.add("looks", "[ -e ../../run/devctl/ready ] || echo unready\n")
    (hooks.container.root / "run/devctl/ready").touch()

    assert hooks.stop()[1:] == [["out", "unready\x1e"], ["end", "Succeeded 0 0"]]


def test_a_hook_gets_term_at_its_timeout(hooks: Hooks) -> None:
    saves = f"echo saved >saved; echo 101.50 1.00 >{hooks.clock}; exit 0"
    waits = f"trap '{saves}' TERM\ntrue >hears\nwhile :; do sleep 0.1; done\n"
    hooks.add("slow", f"echo begun\n{waits}", seconds=1)
    # However long it takes over that.
    hooks.changes |= {"for _ in 1 2 3; do": "while :; do"}

    found = hooks.stop()

    assert found[1][1].startswith("begun\x1e")
    assert found[2] == ["end", "TimedOut 0 1"]
    assert (hooks.home / "saved").exists()


def test_what_ignores_term_is_killed_with_all_that_it_started(hooks: Hooks) -> None:
    goes_on = "while :; do sleep 1; done"
    script = (
        "trap '' TERM\n"
        f"sh -c 'trap \"\" TERM; echo $$ >pid1; {goes_on}' &\n"
        "echo $$ >pid2\n"
        "while ! [ -s pid1 ]; do sleep 0.1; done\n"
        f"true >hears\n{goes_on}\n"
    )
    hooks.add("stubborn", script, 1)

    assert hooks.stop()[-1] == ["end", "TimedOut 137 0"]

    # Three for what it has to save, and at most two for its output.
    assert 3 <= hooks.naps() <= 5
    assert len(hooks.pids()) == 2
    eventually(lambda: not any(map(runs, hooks.pids())))


def test_a_daemon_that_holds_the_output_delays_nothing(hooks: Hooks) -> None:
    hooks.add(
        "forks",
        f"setsid sh -c 'echo $$ >pid; exec sleep {FOREVER}' &\n"
        "while ! [ -s pid ]; do sleep 0.1; done\n",
    )

    assert hooks.stop() == [["begin", "forks"], ["end", "Succeeded 0 0"]]

    assert hooks.naps() == 2
    assert all(map(runs, hooks.pids())), "it is ended with the programs"


def test_of_megabytes_the_end_is_kept(hooks: Hooks) -> None:
    hooks.add("prints", "head -c 3000000 /dev/zero | tr '\\0' x\necho the end\nexit 1\n")

    _, (word, output), end = hooks.stop()

    assert word == "out"
    assert output.endswith("xxthe end\x1e")
    assert len(output) == MAX_OUTPUT
    assert end[1].startswith("Failed 1 ")


def test_the_longest_record_is_kept_whole(hooks: Hooks) -> None:
    for number in range(MAX_HOOKS):
        hooks.add(f"{number:x<32}", "head -c 9000 /dev/zero | tr '\\0' y\nexit 255\n", 600)

    assert [word for word, _ in hooks.stop()] == ["begin", "out", "end"] * MAX_HOOKS


def test_control_characters_are_not_recorded(hooks: Hooks) -> None:
    hooks.add("rude", "printf 'a\\033[2J\\000\\tb\\r\\nbegin x\\036\\037end\\n'\n")

    assert hooks.stop()[1] == ["out", "a[2J b\x1ebegin x\x1eend\x1e"]


@pytest.mark.parametrize("missing", ["mkfifo", "tail", "setsid"])
def test_a_missing_program_stops_nothing(hooks: Hooks, missing: str) -> None:
    tools = hooks.container.root / "tools"
    tools.mkdir()
    for name in {"sleep", "tail", "tr", "rm", "mkfifo", "setsid", "cat"} - {missing}:
        (tools / name).symlink_to(shutil.which(name) or name)
    hooks.add("prints", "echo said\nexit 3\n")
    hooks.add("slow", "true >hears\nwhile :; do sleep 0.1; done\n", seconds=1)
    said = [] if missing != "setsid" else [["out", "said\x1e"]]

    found = hooks.stop(PATH=str(tools))

    if hooks.container.program == "busybox":  # it has them all
        said = [["out", "said\x1e"]]
    assert found[: 2 + len(said)] == [["begin", "prints"], *said, ["end", "Failed 3 0"]]
    assert found[-1] == ["end", "TimedOut 143 0"]


def test_a_full_disk_loses_the_record_and_stops_nothing(hooks: Hooks) -> None:
    hooks.record.unlink()
    hooks.record.symlink_to("/dev/full")
    hooks.add("runs", "echo output\ntrue >ran\n")

    assert hooks.container.run("stop", more=SHORT) == (0, "", "")
    assert (hooks.home / "ran").exists()


@pytest.mark.parametrize("gone", ["run/devctl", "home/dev", "dev", "proc"])
def test_a_missing_folder_stops_nothing(hooks: Hooks, gone: str) -> None:
    hooks.add("runs", "echo output\n")
    shutil.rmtree(hooks.container.root / gone)

    assert hooks.container.run("stop", more=SHORT) == (0, "", "")


@pytest.mark.parametrize("place", ["hook-pipe", "hook-output"])
def test_what_somebody_put_in_the_way_of_the_output_stops_nothing(hooks: Hooks, place: str) -> None:
    hooks.add("runs", "echo output\n")
    (hooks.container.root / "run/devctl" / place).mkdir()

    assert hooks.stop()[-1] == ["end", "Succeeded 0 0"]


def test_a_server_without_hooks_records_nothing(container: Container) -> None:
    container.script("hooks", {})

    assert container.run("stop", more=SHORT) == (0, "", "")
    assert not (container.root / "dev/termination-log").exists()
