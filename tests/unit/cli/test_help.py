"""What every command says of itself, and that nobody waits for it.

Each test looks at all commands of all programs, and names those that fail it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from devctl.cli.main import cli
from unit.cli.every_command import COLUMNS, HIDDEN, Shown, every_command

if TYPE_CHECKING:
    from collections.abc import Iterable

SCREEN = 24
# All commands are one list, and these have that many options.
LONGER = {"devctl": 70, "egpu": 34, "k8shazgpu": 29, "devctl workers": 26}
LONGER |= {"devctl create": 32, "devctl update": 28, "devctl run": 30, "devctl sync": 26}
LONGER |= {"devctl submit": 43, "devctl vllm run": 50, "k8shazgpu vllm run": 50}
LONGER |= {"devctl workers submit": 31, "egpu create": 38, "devctl admin user create": 37}
LONGER |= {"devctl admin user update": 30, "devctl admin team create": 25}
LONGER |= {"devctl admin flavor create": 25}
# Examples that are to be copied whole.
WIDER = {"devctl admin user": 87, "devctl admin user create": 85}
WIDER |= {"devctl admin flavor create": 90}
LAST = (
    *("--namespace", "--context", "--kubeconfig", "--request-timeout"),
    *("--verbose", "--version", "--help"),
)
"""Options of many commands, in the order in which they end each list."""
VALUES = r"name, |table, |text, |low, |torch\."
"""Help that begins with a value that can be typed."""
UNNAMED = {"TEXT", "INTEGER", "FLOAT", "FILENAME", "BOOLEAN"}
"""Click's own words for a value, which say nothing about it."""
ANY_TEXT = {"--currency"}
"""Options for which those words are enough."""


def listed(wrong: Iterable[object]) -> str:
    """All that fails, a line each: a comparison of lists is cut off."""
    return "\n".join(["", *map(str, wrong)])


@pytest.fixture(scope="module")
def commands() -> list[Shown]:
    return list(every_command())


@pytest.fixture(scope="module")
def for_people(commands: list[Shown]) -> list[Shown]:
    """Commands that are not called by programs alone."""
    return [each for each in commands if not each.line.endswith(HIDDEN)]


def test_all_commands_are_looked_at(commands: list[Shown]) -> None:
    lines = [each.line for each in commands]
    assert len(lines) == len(set(lines)) > 150
    deep = {"devctl ssh-proxy", "devctl cache add model", "devctl admin user create"}
    deep |= {"devctl workers keys rotate", "devctl local up", "egpu copy-file"}
    assert deep | {"k8shazgpu cache plan show"} <= set(lines)


def test_help_has_examples(for_people: list[Shown]) -> None:
    without = [each.line for each in for_people if "\n  Examples:\n" not in each.help]
    assert not without, listed(without)


def test_help_fits_a_screen(for_people: list[Shown]) -> None:
    lines = {each.line: len(each.help.splitlines()) for each in for_people}
    long = {line: count for line, count in lines.items() if count > LONGER.get(line, SCREEN)}
    assert not long, listed(long.items())
    wide = {
        each.line: line
        for each in for_people
        for line in each.help.splitlines()
        if len(line) > WIDER.get(each.line, COLUMNS)
    }
    assert not wide, listed(wide.items())


def test_help_begins_with_a_sentence(commands: list[Shown]) -> None:
    first = {each.line: (each.command.help or "").strip().split("\n\n")[0] for each in commands}
    sentence = re.compile(r"[A-Z].*\.", re.DOTALL)
    wrong = [item for item in first.items() if not sentence.fullmatch(item[1])]
    assert not wrong, listed(wrong)


def test_a_group_says_in_a_few_words_what_each_command_is_for(commands: list[Shown]) -> None:
    said = {
        f"{each.line} {item.value}": item.help or ""
        for each in commands
        if isinstance(each.command, click.Group)
        for item in each.command.shell_complete(each.context, "")
    }
    assert len(said) > 150
    brief = re.compile(r"[A-Z].{4,38}[^.]")
    wrong = [item for item in said.items() if not brief.fullmatch(item[1])]
    assert not wrong, listed(wrong)
    for each in commands:
        shown = " ".join(each.help.split())
        for line, text in said.items():
            if line.rpartition(" ")[0] == each.line:
                assert f"{line.rpartition(' ')[2]} {text}" in shown, line


def test_every_option_is_explained(for_people: list[Shown]) -> None:
    wrong = []
    sentence = re.compile(rf"([^a-z]|{VALUES}).*[.…\]]")
    for each in for_people:
        shown = " ".join(each.help.partition("\nOptions:\n")[2].split())
        for option in each.options:
            text = option.help or ""
            names = [*option.opts, *option.secondary_opts]
            if not sentence.fullmatch(" ".join(text.split())):
                wrong.append((each.line, names, "is not explained by a sentence"))
            record = option.get_help_record(each.context)
            if record is None:
                # Those that lead to a cluster are explained by the program alone.
                missing = names[-1] not in LAST
            else:
                missing = " ".join(record[1].split()) not in shown or record[0] not in shown
            if missing:
                wrong.append((each.line, names, "is not in its command's help"))
    assert not wrong, listed(wrong)


def test_every_value_and_argument_has_a_name(for_people: list[Shown]) -> None:
    wrong: list[tuple[str, list[str | None]]] = []
    for each in for_people:
        usage = " ".join(each.help.partition("\n\n")[0].split())
        for option in each.options:
            takes_one = not (option.is_flag or option.count)
            named = option.make_metavar(each.context) not in UNNAMED
            if takes_one and not named and not ANY_TEXT & {*option.opts}:
                wrong.append((each.line, [*option.opts]))
        wrong += [
            (each.line, [argument.name])
            for argument in each.arguments
            if argument.make_metavar(each.context) not in usage
        ]
    assert not wrong, listed(wrong)


def test_options_of_many_commands_come_last_and_in_one_order(commands: list[Shown]) -> None:
    for each in commands:
        found = [option.opts[-1] for option in each.options]
        last = [name for name in LAST if name in found]
        assert found[-len(last) :] == last, each.line


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
