from __future__ import annotations

import json
from pathlib import Path

import pytest
from devctl_runner.runs.request import INVENTORY, Run, UnsupportedError, parse, read_inputs

FORM = ["--role", "devserver", "--roles-path", "/r/", "--hosts", "localhost", "-i", "7"]
ROLE = ["run", "/d", "--rotate-artifacts", "3", *FORM]


def test_the_operators_command_line_for_a_role() -> None:
    run = parse([*ROLE, "-vv", "--role-skip-facts"], "/")

    assert run == Run(
        Path("/d"), "7", 3, "devserver", "/r", "localhost", verbosity=2, gather_facts=False
    )
    role = {"name": "devserver", "rolespec_validate": False}
    tasks = [{"ansible.builtin.import_role": role}]
    assert run.play() == [{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]
    assert run.label == "devserver"


def test_the_operators_command_line_for_a_playbook() -> None:
    run = parse(["run", "d", "--rotate-artifacts", "20", "-p", "/p/book.yml", "-i", "7"], "/c")

    assert run == Run(Path("/c/d"), "7", 20, playbook="/p/book.yml")
    assert run.label == "book.yml"
    assert run.artifacts == Path("/c/d/artifacts/7")


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["start", *ROLE[1:]],
        ["run", "--help"],
        [*ROLE, "--limit", "x"],
        [*ROLE, "-p", "book.yml"],
        [*ROLE, "-i"],
        [*ROLE, "-i", "../up"],
        [*ROLE, "-i", ""],
        [*ROLE, "--rotate-artifacts", "many"],
        [*ROLE, "--rotate-artifacts", "-3"],
        [*ROLE, "--rotate", "3"],
        ["run", "/d", "-i", "7", "-p", ""],
        ["run", "/d", "-i", "7"],
        ["run", "/d", "-i", "7", "--role", "x"],
    ],
)
def test_any_other_command_line_is_the_stock_runners(argv: list[str]) -> None:
    with pytest.raises(UnsupportedError, match="arguments"):
        parse(argv, "/")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    for name, text in {
        "env/settings": '{"runner_http_url": "/s", "runner_http_path": "/events/"}',
        "env/envvars": '{"KUBECONFIG": "/k"}',
        "inventory/hosts": INVENTORY,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(Path, "is_socket", lambda path: str(path) == "/s")
    return Run(tmp_path, "7", role="x")


def test_what_the_operator_writes_is_understood(run: Run) -> None:
    own = {"ANSIBLE_GATHERING": "explicit"}
    inputs = read_inputs(run, {**own, "KUBECONFIG": "/old", "HOME": "/h"}, own)

    assert (inputs.event_socket, inputs.event_path) == ("/s", "/events/")
    assert inputs.environment == {**own, "KUBECONFIG": "/k", "HOME": "/h"}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("env/passwords", "{}", "credentials"),
        ("env/ssh_key", "", "credentials"),
        ("env/cmdline", "--check", "cmdline"),
        ("env/settings", "pexpect_timeout: 5", "format"),
        ("env/settings", "[]", "format"),
        ("env/settings", "{}", "settings"),
        ("env/settings", '{"runner_http_url": "/s", "idle_timeout": 5}', "settings"),
        ("env/settings", '{"runner_http_url": "http://example.org"}', "settings"),
        ("env/envvars", '{"ANSIBLE_STRATEGY": "free"}', "environment"),
        ("inventory/hosts", "example.org", "inventory"),
        ("inventory/more", INVENTORY, "inventory"),
    ],
)
def test_anything_else_is_the_stock_runners(run: Run, name: str, text: str, reason: str) -> None:
    (run.directory / name).write_text(text)

    with pytest.raises(UnsupportedError, match=reason):
        read_inputs(run, {}, {})


def test_another_ansible_environment_than_the_daemons_is_the_stock_runners(run: Run) -> None:
    with pytest.raises(UnsupportedError, match="environment"):
        read_inputs(run, {"ANSIBLE_GATHERING": "smart"}, {"ANSIBLE_GATHERING": "explicit"})


def test_an_empty_cmdline_is_none(run: Run) -> None:
    (run.directory / "env/cmdline").write_text("\n")

    assert json.dumps(read_inputs(run, {}, {}).event_path) == '"/events/"'
