"""What every command says of itself, and that nobody waits for it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from devctl.cli.config import config
from devctl.cli.homes import homes
from devctl.cli.jobs.group import jobs
from devctl.cli.local.group import local
from devctl.cli.main import cli
from devctl.cli.vllm.cache_group import add, cache, plan
from devctl.cli.vllm.vllm_group import vllm
from devctl.cli.workers.group import workers
from devctl.cli.workers.keys import keys

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

CONTEXT = click.Context(cli)
COMMANDS = [
    "",
    *cli.list_commands(CONTEXT),
    "ssh-proxy",
    *(f"config {name}" for name in config.list_commands(CONTEXT)),
    *(f"homes {name}" for name in homes.list_commands(CONTEXT)),
    *(f"jobs {name}" for name in jobs.list_commands(CONTEXT)),
    *(f"vllm {name}" for name in vllm.list_commands(CONTEXT)),
    *(f"cache {name}" for name in cache.list_commands(CONTEXT)),
    *(f"cache add {name}" for name in add.list_commands(CONTEXT)),
    *(f"cache plan {name}" for name in plan.list_commands(CONTEXT)),
    *(f"workers {name}" for name in workers.list_commands(CONTEXT)),
    *(f"workers keys {name}" for name in keys.list_commands(CONTEXT)),
    *(f"local {name}" for name in local.list_commands(CONTEXT)),
]


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name: str, snapshot: SnapshotAssertion) -> None:
    line = [*name.split(), "--help"]
    result = CliRunner().invoke(cli, line, prog_name="devctl", terminal_width=80)
    assert result.exit_code == 0
    assert result.output == snapshot
    assert max(map(len, result.output.splitlines())) <= 80


SCREEN = 24
# All commands are one list, and these have that many options.
LONGER = {"": 70, "create": 32, "update": 28, "run": 30, "sync": 26, "submit": 43, "vllm run": 50}
LONGER |= {"workers": 26, "workers submit": 31}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "ssh-proxy"])
def test_help_has_examples_and_fits_a_screen(name: str) -> None:
    result = CliRunner().invoke(cli, [*name.split(), "--help"], terminal_width=80)
    assert "Examples:\n" in result.output
    assert len(result.output.splitlines()) <= LONGER.get(name, SCREEN)


def test_options_of_every_command_are_explained_once() -> None:
    def shown(*line: str) -> str:
        return CliRunner().invoke(cli, [*line, "--help"], prog_name="kubectl devctl").output

    assert "--kubeconfig FILE     Default: $KUBECONFIG, ~/.kube/config.\n" in shown()
    words = " ".join(shown("describe").split())
    assert "-v, --verbose Also --context, --kubeconfig: `kubectl devctl -h`." in words
    assert "Default: $KUBECONFIG" not in words


def test_help_of_no_command_imports_what_takes_time() -> None:
    heavy = "{'websockets', 'httpx2', 'httpcore2', 'msgspec', 'ssl', 'yaml', 'rich', 'devctl.kube'}"
    lines = (
        "import click, sys",
        "from devctl.cli.main import cli",
        "context = click.Context(cli)",
        "names = [*cli.list_commands(context), 'ssh-proxy']",
        "print(all(cli.get_command(context, name) for name in names))",
        f"print(sorted(sys.modules.keys() & {heavy}))",
    )
    program = [sys.executable, "-c", "\n".join(lines)]
    found = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert found == "True\n[]\n"
