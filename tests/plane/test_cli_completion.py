"""Completion in real shells, with names that the API server knows."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.command_line import CommandLine
    from support.plane.plane import Plane
    from support.user_place import UserPlace

PLAIN = {"bash": ["--norc"], "fish": ["--no-config"], "zsh": ["-f"]}


@pytest.fixture(scope="module")
def command_line(place: UserPlace) -> CommandLine:
    """The shell of a user whose only server is called `lab`."""
    place.server("lab").apply(stopped=True)
    return place.user


def run(command_line: CommandLine, shell: str, words: str) -> list[str]:
    """What a shell prints that reads no settings of anybody's."""
    done = subprocess.run(
        [shell, *PLAIN[shell], "-c", words],
        capture_output=True,
        text=True,
        check=False,
        env=command_line.variables,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_bash_offers_names_and_keeps_what_is_typed(command_line: CommandLine) -> None:
    words = """
        source <(devctl completion bash)
        COMP_LINE='devctl ssh la' COMP_POINT=13 COMP_WORDS=(devctl ssh la) COMP_CWORD=2
        compopt() { :; }
        $(complete -p devctl | sed -E 's/.*-F ([^ ]+).*/\\1/')
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    assert run(command_line, "bash", words) == ["lab"]


def test_fish_offers_names_and_whole_descriptions(command_line: CommandLine) -> None:
    source = "devctl completion fish | source;"
    (offered,) = run(command_line, "fish", f"{source} complete -C 'devctl ssh la'")
    assert offered.partition("\t")[0] == "lab"
    commands = run(command_line, "fish", f"{source} complete -C 'devctl st'")
    assert "stop\tStop a server, keep its files" in commands


def test_kubectl_takes_it_for_a_plugin_and_completes_it(
    command_line: CommandLine, plane: Plane
) -> None:
    def kubectl(*words: str) -> tuple[int, list[str], str]:
        done = subprocess.run(
            [plane.kubectl.program, *words], capture_output=True, text=True, check=False,
            env=command_line.variables, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout.splitlines(), done.stderr

    assert kubectl("devctl", "list", "-o", "name") == (0, ["devserver/lab"], "")
    code, printed, said = kubectl("devctl", "describe", "nobody")
    assert (code, printed) == (3, [])
    assert said.startswith("error: there is no server `nobody`")
    assert kubectl("devctl", "--help")[1][0] == "Usage: kubectl devctl [OPTIONS] COMMAND [ARGS]..."
    assert kubectl("__complete", "devctl", "describe", "la")[1] == ["lab", ":4"]
    offered = kubectl("__complete", "devctl", "st")[1]
    assert "stop\tStop a server, keep its files" in offered


@pytest.mark.parametrize("before", ["", "autoload -Uz compinit && compinit -i && "])
def test_zsh_needs_no_completion_system_that_is_loaded(
    command_line: CommandLine, before: str
) -> None:
    words = f"{before}source <(devctl completion zsh) && print $_comps[devctl]"
    assert run(command_line, "zsh", words) == ["_devctl_completion"]
