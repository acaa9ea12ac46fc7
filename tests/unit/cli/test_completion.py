"""Completion: what is offered, and that each shell gets it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from devctl import kubectl_plugin
from devctl.cli import completion, names
from devctl.cli.lazy import Entry, SectionedGroup
from devctl.cli.main import cli
from unit.client.objects import CLAIMS, FLAVORS, SERVERS, flavor, home, server
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from unit.client.fake_cluster import FakeApi

answer = kubectl_plugin.answer
PROGRAM = f"""#!{sys.executable}
import click
from click.shell_completion import CompletionItem
from devctl.cli.program import run_program


def offered(_context, _parameter, begun):
    found = [
        CompletionItem("lab:/data", help="a folder, not a file"),
        CompletionItem("lab:/code"),
        CompletionItem("--x=a b"),
    ]
    return [item for item in found if item.value.startswith(begun)]


@click.command()
@click.argument("where", shell_complete=offered)
def probe(where):
    pass


run_program(probe, "probe", "_PROBE_COMPLETE")
"""


@pytest.fixture
def there(api: FakeApi) -> FakeApi:
    api.add(SERVERS, server("lab"), server("lively"))
    other = server("other")
    other["metadata"]["namespace"] = "dev-bob"
    api.add(SERVERS, other)
    api.add(FLAVORS, flavor(), flavor("gpu"), flavor("old", cordoned=True))
    api.add(CLAIMS, home("lab"))
    return api


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("describe ", ["lab", "lively"]),
        ("describe la", ["lab"]),
        ("-n dev-bob describe ", ["other"]),
        ("describe -n dev-bob ", ["other"]),
        ("describe --namespace=dev-bob ", ["other"]),
        ("stop lab li", ["lively"]),
        ("create x --flavor ", ["cpu-small", "gpu"]),
        ("update lab --flavor ", ["cpu-small", "gpu"]),
        ("admin flavor cordon ", ["cpu-small", "gpu"]),
        ("admin flavor uncordon ", ["old"]),
        ("homes delete ", ["home-lab-0"]),
        ("describe lab -o ", ["text", "json", "yaml", "name", "jsonpath="]),
        ("restart lab -o j", ["json", "jsonpath="]),
        ("edit li", ["lively"]),
        ("update la", ["lab"]),
        ("update lab --flavor g", ["gpu"]),
        ("apply --dry", ["--dry-run"]),
        ("config set fl", ["flavor"]),
        ("config set output w", ["wide"]),
        ("config set wait ", ["true", "false"]),
        ("config un", ["unset"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("homes ", ["list", "delete"]),
        ("local re", ["reset"]),
    ],
)
def test_what_kubectl_is_answered(line: str, offered: list[str], there: FakeApi) -> None:
    assert there.names(SERVERS)
    *found, last = answer(line.split(" "))
    assert [text.partition("\t")[0] for text in found] == offered
    assert last == ":4"


def test_commands_have_descriptions_and_are_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devctl.cli.lazy.import_module", None)
    found = answer(["s"])
    assert "stop\tStop a server, keep its files" in found
    assert not any(text.startswith("ssh-proxy") for text in found)
    assert answer([]) == answer([""])


def test_files_are_left_to_the_shell() -> None:
    group = SectionedGroup("x", sections={"A": {"b": Entry("c:d", "e")}})
    assert group.list_commands(click.Context(group)) == ["b"]
    assert answer(["--kubeconfig", ""]) == [":4"]


def test_kubectl_is_answered_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-devctl", "comp"])
    kubectl_plugin.complete()
    assert capsys.readouterr().out == "completion\tSet up completion in a shell\n:4\n"


def test_help_of_the_plugin_is_about_the_plugin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl-devctl", "stop", "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        kubectl_plugin.main()
    assert capsys.readouterr().out.startswith("Usage: kubectl devctl stop ")


def test_a_cluster_that_does_not_answer_offers_nothing(
    there: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.refusals["GET", SERVERS] = (403, "no")
    assert answer(["describe", ""]) == [":4"]
    monkeypatch.setattr(names, "_PATIENCE", 0.01)
    there.refusals.clear()
    answers = threading.Event()
    monkeypatch.setattr(there, "cluster", lambda *_: answers.wait(PATIENCE))
    assert answer(["describe", ""]) == [":4"]
    assert not answers.is_set()
    answers.set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_ask_devctl(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"_DEVCTL_COMPLETE={shell}_complete" in result.stdout


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `probe` on PATH, and the script with which bash completes it."""
    program = tmp_path / "probe"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "home").mkdir()
    environment = os.environ | {"_PROBE_COMPLETE": "bash_source"}
    script = subprocess.run([program], env=environment, capture_output=True, check=True).stdout
    (tmp_path / "bash").write_bytes(script)
    return tmp_path


def run(words: str) -> list[str]:
    bash = ["bash", "--norc", "-c", words]
    done = subprocess.run(bash, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        # What stands before the break is there already.
        ("probe lab:/", ["/data", "/code"]),
        ("probe la", ["lab:/data", "lab:/code"]),
        ("probe ", ["lab:/data", "lab:/code", "'--x=a b'"]),
        ("probe 'lab:/d", ["/data"]),
        ("probe lab:/d more", []),
    ],
)
def test_bash_completes_names_with_colons(probe: Path, typed: str, offered: list[str]) -> None:
    words = f"""
        source {probe}/bash
        COMP_LINE={subprocess.list2cmdline([typed]) if "'" in typed else repr(typed)}
        COMP_POINT=${{#COMP_LINE}} COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
        compopt() {{ :; }}
        _probe_completion
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    found = [line for line in run(words) if line]
    assert found == offered


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20), st.sampled_from(["", " "])
)
def test_the_word_under_the_cursor_is_what_is_typed_of_it(word: str, end: str) -> None:
    line = f"devctl cp {shlex.quote(word)}{end}"
    given_words = {"COMP_LINE": line + "ignored", "COMP_POINT": str(len(line.encode()))}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given_words.items():
            patch.setenv(name, value)
        found = completion._Bash(cli, {}, "devctl", "_X").get_completion_args()  # noqa: SLF001
    assert found == ((["cp", word], "") if end else (["cp"], word))
