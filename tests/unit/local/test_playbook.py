from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from devctl.local import playbook
from devctl.local.paths import REPOSITORY, state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from devctl.local.paths import ClusterPaths


class Started(NamedTuple):
    """What a run would have started."""

    command: list[str]
    environment: Mapping[str, str]


@pytest.fixture
def start(paths: ClusterPaths, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Started]:
    """Runs a playbook without Ansible; its exit code is always 2."""

    def run(extra: Mapping[str, str] | None = None, run_of: str = "") -> Started:
        started: list[Started] = []

        def fake(
            command: list[object], *, env: Mapping[str, str], stdin: int, **_options: object
        ) -> subprocess.CompletedProcess[str]:
            assert stdin == subprocess.DEVNULL
            started.append(Started([str(word) for word in command], env))
            return subprocess.CompletedProcess([], 2)

        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "run", fake)
            assert playbook.run("local-up.yml", {"all": {}}, paths.root, extra, run_of=run_of) == 2
        return started[0]

    return run


def test_ansible_writes_below_the_state_folder_only(start: Callable[..., Started]) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "ansible", "config", "dump", "--format", "json"],
        capture_output=True,
        check=True,
        env=start().environment,
        cwd=REPOSITORY,
    )
    settings = {e["name"]: e["value"] for e in json.loads(result.stdout) if "name" in e}
    written = ["ANSIBLE_HOME", "DEFAULT_LOCAL_TMP", "DEFAULT_LOG_PATH", "GALAXY_CACHE_DIR"]
    for name in (*written, "PERSISTENT_CONTROL_PATH_DIR"):
        assert Path(settings[name]).is_relative_to(state_folder()), name
    home = str(Path.home())
    assert {k: v for k, v in settings.items() if isinstance(v, str) and v.startswith(home)} == {}


def test_every_folder_that_the_environment_names_is_ours(start: Callable[..., Started]) -> None:
    environment = start().environment
    prefixes = ("ANSIBLE_", "DEVCTL_", "TMPDIR")
    folders = {k: Path(v) for k, v in environment.items() if k.startswith(prefixes) and "/" in v}
    assert {"ANSIBLE_REMOTE_TEMP", "ANSIBLE_LOG_PATH", "DEVCTL_LOGS"} <= folders.keys()
    for name, folder in folders.items():
        assert folder.is_relative_to(state_folder()) or folder.is_relative_to(REPOSITORY), name


def test_temporary_files_of_a_killed_run_are_gone(start: Callable[..., Started]) -> None:
    leftover = Path(start().environment["ANSIBLE_REMOTE_TEMP"]) / "ansible-tmp-1"
    leftover.mkdir()
    start()
    assert leftover.parent.is_dir()
    assert not leftover.exists()


def test_the_callers_own_ansible_settings_do_not_win(
    start: Callable[..., Started], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANSIBLE_CONFIG", "ANSIBLE_STDOUT_CALLBACK", "ANSIBLE_LOG_PATH", "ANSIBLE_HOME"):
        monkeypatch.setenv(name, "theirs")
    assert "theirs" not in start().environment.values()


@pytest.mark.parametrize("cluster_name", ["", "lab"])
def test_what_a_run_starts_for_a_cluster_is_marked(
    start: Callable[..., Started], cluster_name: str
) -> None:
    environment = start(run_of=cluster_name).environment
    assert environment.get(playbook.RUN_VARIABLE, "") == cluster_name


def test_a_run_is_told_its_playbook_inventory_and_variables(
    start: Callable[..., Started], paths: ClusterPaths
) -> None:
    command = start({"key": "value"}).command
    inventory = Path(command[command.index("--inventory") + 1])
    assert inventory.is_relative_to(paths.root)
    assert json.loads(inventory.read_text()) == {"all": {}}
    assert str(REPOSITORY / "playbooks" / "local-up.yml") in command
    assert json.loads(command[command.index("--extra-vars") + 1]) == {"key": "value"}
