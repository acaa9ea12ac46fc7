from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

from devctl.cli.main import cli
from devctl.errors import (
    BusyError,
    DeniedError,
    DevctlError,
    HostError,
    NotFoundError,
    ReportedError,
    StepError,
    UsageError,
    WaitTimeoutError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from unit.cli.conftest import Devctl

# What `--help` and a typo must not wait for.
HEAVY = {
    "ansible",
    "asyncio",
    "devctl.local",
    "socket",
    "subprocess",
    "supervisor",
    "xmlrpc",
    "yaml",
}
IMPORTED = """
import sys
from devctl.__main__ import main
try:
    main()
finally:
    print("imported:", *sys.modules)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["no-such-command"]], ids=" ".join)
def test_what_needs_no_command_imports_none(arguments: list[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, check=False
    )
    modules = result.stdout.rpartition("imported:")[2].split()
    assert "click" in modules
    assert HEAVY.intersection(modules) == set()


LIST_NEEDS_NOT = {
    "ansible",
    "cryptography",
    "devctl.client.files",
    "devctl.client.jobs",
    "devctl.client.runs",
    "devctl.client.ssh",
    "devctl.client.streams",
    "devctl.local",
    "kubernetes",
    "pydantic",
    "rich",
}


def test_a_list_imports_only_what_it_needs(tmp_path: Path) -> None:
    cluster = {"server": "https://127.0.0.1:1"}
    config = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    line = [sys.executable, "-c", IMPORTED, "--kubeconfig", str(file), "list"]
    result = subprocess.run(line, capture_output=True, text=True, check=False)
    assert "cannot be reached" in result.stderr
    modules = result.stdout.rpartition("imported:")[2].split()
    assert "devctl.client.servers" in modules
    assert LIST_NEEDS_NOT.intersection(modules) == set()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["local", "-h"], ["local", "up", "--help"]], ids=" ".join
)
def test_help_goes_to_standard_output(devctl: Devctl, arguments: list[str]) -> None:
    result = devctl(*arguments)
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"Usage: {' '.join(['devctl', *arguments[:-1]])} ")


@pytest.mark.parametrize("group", [[], ["homes"], ["local"]], ids=["devctl", "homes", "local"])
def test_a_name_alone_shows_what_it_can_do(devctl: Devctl, group: list[str]) -> None:
    assert devctl(*group) == devctl(*group, "--help")


def test_every_command_says_what_it_is_for(devctl: Devctl) -> None:
    lines = devctl("local", "--help").stdout.partition("Commands:\n")[2].splitlines()
    described = {line.split()[0]: line.split()[1:] for line in lines}
    assert list(described) == ["up", "down", "status", "reset", "logs", "load", "token"]
    assert all(described.values())


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        (["no-such-command"], "no-such-command"),
        (["local", "no-such-command"], "no-such-command"),
        (["local", "up", "--no-such-option"], "--no-such-option"),
        (["local", "up", "--nodes", "many"], "many"),
        (["local", "up", "--node-range", "10.1.0.0/33"], "10.1.0.0/33"),
        (["local", "up", "--pod-range", "10.1.0.1/16"], "10.1.0.1/16"),
        (["local", "status", "-o", "yaml"], "yaml"),
        (["local", "load"], "IMAGE"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_line_exits_2_and_names_the_mistake(
    devctl: Devctl, arguments: list[str], mistake: str
) -> None:
    result = devctl(*arguments)
    assert (result.code, result.stdout) == (2, "")
    error, fix = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert mistake in error
    assert fix.startswith("  fix: ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["local", "up", "--nodes", "9"], 2, "9 nodes are not possible"),
        (["local", "up", "--name", "Not_A_Name"], 2, "cluster name `Not_A_Name` is not valid"),
        (["local", "status", "--name", "nobody"], 3, "there is no local cluster `nobody`"),
        (["local", "logs", "--name", "nobody"], 3, "there is no local cluster `nobody`"),
        (["local", "reset", "--name", "nobody"], 3, "there is no local cluster `nobody`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_error_is_two_lines_and_leaves_no_trace(
    devctl: Devctl, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    result = devctl(*arguments)
    assert result.code == code
    error, fix = result.stderr.splitlines()
    assert error == f"error: {said}"
    assert fix.startswith("  fix: ")
    assert list(tmp_path.iterdir()) == []


def test_the_exit_code_and_both_lines_reach_the_shell() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "devctl", "local", "logs", "--name", "nobody"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == (
        "error: there is no local cluster `nobody`\n  fix: create it with `devctl local up`\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "stderr"),
    [
        (DevctlError("it broke"), 1, "error: it broke\n"),
        (HostError("too small", "buy one"), 1, "error: too small\n  fix: buy one\n"),
        (BusyError("taken", "wait"), 1, "error: taken\n  fix: wait\n"),
        (StepError("cannot do it"), 1, "error: cannot do it\n"),
        (ReportedError("Ansible has said it"), 1, ""),
        (UsageError("nonsense", "think"), 2, "error: nonsense\n  fix: think\n"),
        (NotFoundError("nothing", "look"), 3, "error: nothing\n  fix: look\n"),
        (WaitTimeoutError("too late"), 4, "error: too late\n"),
        (DeniedError("forbidden", "ask"), 5, "error: forbidden\n  fix: ask\n"),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
        (SystemExit(1), 1, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_each_kind_of_error_has_its_exit_code(
    devctl: Devctl,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    stderr: str,
) -> None:
    def fail(**_options: object) -> None:
        raise error

    monkeypatch.setattr(cli, "main", fail)
    assert devctl() == (code, "", stderr)


def test_a_traceback_is_there_for_those_who_ask(
    devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVCTL_TRACEBACK", "1")
    result = devctl("local", "status")
    assert result.code == 3
    assert "Traceback (most recent call last)" in result.stderr


@pytest.mark.parametrize("verbose", [["-vv", "local", "status"], ["-v", "-v", "local", "status"]])
def test_a_traceback_is_there_with_vv(devctl: Devctl, verbose: list[str]) -> None:
    assert "Traceback (most recent call last)" in devctl(*verbose).stderr
    assert "Traceback" not in devctl("-v", "local", "status").stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no\nsuch value"), "error: ValueError: no such value"),
        (PermissionError(13, "Permission denied", "keys"), "error: Permission denied: `keys`"),
    ],
    ids=["unforeseen", "of-the-machine"],
)
def test_what_nobody_foresaw_is_two_lines_too(
    devctl: Devctl, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fail(**_options: object) -> None:
        raise error

    monkeypatch.setattr(cli, "main", fail)
    result = devctl()
    assert (result.code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[0] == said
    assert result.stderr.splitlines()[1].startswith("  fix: ")


def test_a_typo_is_met_with_what_is_close(devctl: Devctl) -> None:
    assert devctl("lst").stderr.splitlines() == [
        "error: there is no command `devctl lst`",
        "  fix: did you mean `devctl list`?",
    ]
    assert devctl("local", "up", "--nods", "3").stderr.splitlines() == [
        "error: there is no option `--nods`",
        "  fix: did you mean `--nodes`? See `devctl local up --help`",
    ]


def test_ctrl_c_while_modules_load_is_silent(
    devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_args: object, **_kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "devctl.cli.main")
    monkeypatch.setattr("importlib._bootstrap._find_spec", interrupted)
    assert devctl("list") == (130, "", "")


def test_an_exit_code_passes_through(devctl: Devctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "main", lambda **_options: 7)
    assert devctl("exec") == (7, "", "")


def test_a_reader_that_goes_early_is_no_error() -> None:
    line = f"set -o pipefail; {sys.executable} -m devctl --help | head -n 1"
    result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (result.stdout.count("\n"), result.stderr) == (1, "")


@pytest.mark.parametrize("encoding", ["koi8-r", "latin-1"])
def test_what_an_encoding_lacks_is_escaped(encoding: str) -> None:
    program = "import click; from devctl.cli.program import run_program\n"
    program += "run_program(click.Command('x', callback=lambda: click.echo('a \u2026')), 'x', '_X')"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": encoding},
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, b"a \\u2026\n", b"")
