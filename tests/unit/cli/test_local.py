from __future__ import annotations

import json
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from devctl.cli.main import cli
from devctl.errors import NotFoundError
from devctl.local.paths import cluster_paths
from devctl.local.settings import ClusterSettings, WantedRanges, block_ranges
from devctl.local.status import ClusterStatus

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from devctl.local.paths import ClusterPaths

NAME = "lab"
KUBECONFIG = {
    "clusters": [{"name": "kubernetes", "cluster": {"server": "https://local"}}],
    "users": [{"name": "kubernetes-admin", "user": {}}],
    "contexts": [{"name": "x", "context": {"cluster": "kubernetes", "user": "kubernetes-admin"}}],
}


def devctl(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["local", *arguments], input=typed)


@pytest.fixture
def settings() -> ClusterSettings:
    return ClusterSettings(NAME, 2, *block_ranges(IPv4Network("198.18.0.0/18")))


@pytest.fixture
def created(settings: ClusterSettings) -> ClusterPaths:
    """A cluster that was up once."""
    paths = cluster_paths(NAME)
    paths.logs.mkdir(parents=True)
    paths.settings.write_text(json.dumps(settings.to_json()))
    paths.kubeconfig.write_text(yaml.safe_dump(KUBECONFIG))
    return paths


@pytest.fixture
def kube_config(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".kube" / "config"


@pytest.fixture
def ups(
    created: ClusterPaths,  # noqa: ARG001 - what `up` leaves
    settings: ClusterSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> list[tuple[Any, ...]]:
    """What `up` was asked for."""
    calls: list[tuple[Any, ...]] = []

    def up(*arguments: Any) -> ClusterSettings:
        calls.append(arguments)
        return settings

    monkeypatch.setattr("devctl.cli.local.lifecycle.bring_up", up)
    return calls


def test_up_passes_on_what_was_asked_for(ups: list[tuple[Any, ...]]) -> None:
    devctl("up", "--name", NAME)
    devctl("up", "--name", NAME, "--nodes", "3", "--pod-range", "10.2.0.0/20")
    devctl("up", "--name", NAME, "--with", "a,b", "--with", "c", "--without", "d")
    assert ups == [
        (NAME, None, WantedRanges(), (), ()),
        (NAME, 3, WantedRanges(pod=IPv4Network("10.2.0.0/20")), (), ()),
        (NAME, None, WantedRanges(), ("a", "b", "c"), ("d",)),
    ]


@pytest.mark.usefixtures("ups")
def test_up_tells_the_next_command_and_leaves_the_persons_kubeconfig_alone(
    kube_config: Path,
) -> None:
    lines = devctl("up", "--name", NAME).stdout.splitlines()
    assert lines[0] == f"bringing up local cluster `{NAME}`"
    assert lines[1].startswith(f"cluster `{NAME}` is up with 2 nodes in ")
    assert lines[2] == f"next: export KUBECONFIG={cluster_paths(NAME).kubeconfig}"
    assert not kube_config.exists()


@pytest.mark.usefixtures("ups")
def test_up_adds_the_cluster_to_the_persons_kubeconfig_only_when_told_to(
    kube_config: Path,
) -> None:
    result = devctl("up", "--name", NAME, "--merge-kubeconfig")
    assert f"context `devctl-local-{NAME}` added to {kube_config}" in result.stdout
    assert yaml.safe_load(kube_config.read_text())["current-context"] == f"devctl-local-{NAME}"


def test_the_name_may_come_from_the_environment(
    ups: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVCTL_LOCAL_NAME", NAME)
    devctl("up")
    assert ups[0][0] == NAME


@pytest.mark.parametrize(("name", "suffix"), [("devctl", ""), (NAME, f" --name {NAME}")])
def test_down_tells_the_next_commands(
    monkeypatch: pytest.MonkeyPatch, name: str, suffix: str
) -> None:
    downs: list[str] = []
    monkeypatch.setattr("devctl.cli.local.lifecycle.take_down", downs.append)
    lines = devctl("down", "--name", name).stdout.splitlines()
    assert downs == [name]
    assert lines[0].startswith(f"cluster `{name}` is down")
    assert f"devctl local up{suffix}," in lines[1]
    assert lines[1].endswith(f"devctl local reset{suffix}")


@pytest.mark.usefixtures("created")
def test_status_of_a_cluster_that_is_down_is_1_and_names_the_way_up() -> None:
    result = devctl("status", "--name", NAME)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"cluster `{NAME}` is down",
        "",
        f"next: devctl local up --name {NAME}",
    ]


@pytest.mark.usefixtures("created")
def test_status_as_json_is_one_document() -> None:
    result = devctl("status", "--name", NAME, "-o", "json")
    assert result.exit_code == 1
    status = json.loads(result.stdout)
    assert (status["name"], status["state"], status["problems"]) == (NAME, "down", [])


@pytest.mark.usefixtures("created")
@pytest.mark.parametrize(("state", "code"), [("up", 0), ("degraded", 1)])
def test_status_shows_problems_nodes_and_processes(
    monkeypatch: pytest.MonkeyPatch, state: str, code: int
) -> None:
    node = {"name": "lab-1", "ready": True, "address": "198.18.0.11", "version": "v1.36.4"}
    process = {"name": "kubelet-lab-1", "state": "RUNNING", "pid": 11, "uptime_seconds": 60}
    problems = [] if state == "up" else ["node lab-2 is not ready"]
    parts = ["network-policy", "kueue"] if state == "up" else []
    found = ClusterStatus(NAME, state, "/kubeconfig", "/", [node], [process], {}, problems, parts)
    monkeypatch.setattr("devctl.cli.local.status.read_status", lambda *_: found)
    result = devctl("status", "--name", NAME)
    assert result.exit_code == code
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["lab-1", "yes", "198.18.0.11", "v1.36.4"] in lines
    assert ["kubelet-lab-1", "running", "11", "60", "s"] in lines
    assert ("  node lab-2 is not ready" in result.stdout) == (state == "degraded")
    assert ("parts: network-policy, kueue" in result.stdout) == (state == "up")
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.fixture
def resets(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr("devctl.cli.local.lifecycle.forget", names.append)
    return names


@pytest.mark.usefixtures("created")
@pytest.mark.parametrize(
    ("arguments", "typed"),
    [(["--confirm", NAME], None), (["--yes"], None), ([], f"{NAME}\n")],
    ids=["option", "yes", "typed"],
)
def test_reset_deletes_when_the_name_is_given_once_more(
    resets: list[str], arguments: list[str], typed: str | None
) -> None:
    result = devctl("reset", "--name", NAME, *arguments, typed=typed)
    assert result.exit_code == 0
    assert resets == [NAME]
    assert result.stdout.splitlines()[0] == f"cluster `{NAME}` deleted"


@pytest.mark.usefixtures("created")
@pytest.mark.parametrize(
    ("arguments", "typed"),
    [(["--confirm", "other"], None), ([], "yes\n"), ([], "")],
    ids=["other-name", "yes", "nothing-typed"],
)
def test_reset_deletes_nothing_otherwise(
    resets: list[str], arguments: list[str], typed: str | None
) -> None:
    assert devctl("reset", "--name", NAME, *arguments, typed=typed).exit_code != 0
    assert resets == []


@pytest.mark.usefixtures("created")
def test_a_wrong_name_says_that_nothing_was_deleted(resets: list[str]) -> None:
    result = devctl("reset", "--name", NAME, "--confirm", "other")
    assert (result.exit_code, resets) == (2, [])
    assert "`other` is not `lab`: nothing was deleted" in result.stderr


@pytest.mark.usefixtures("ups", "resets")
def test_reset_takes_the_cluster_out_of_the_persons_kubeconfig(kube_config: Path) -> None:
    devctl("up", "--name", NAME, "--merge-kubeconfig")
    devctl("reset", "--name", NAME, "--confirm", NAME)
    assert yaml.safe_load(kube_config.read_text())["contexts"] == []


@pytest.mark.usefixtures("created", "resets")
def test_a_damaged_kubeconfig_does_not_hide_that_the_cluster_is_deleted(kube_config: Path) -> None:
    kube_config.parent.mkdir(parents=True)
    kube_config.write_text("just text")
    result = devctl("reset", "--name", NAME, "--confirm", NAME)
    assert f"cluster `{NAME}` deleted" in result.stdout


def test_logs_are_listed_and_shown(
    created: ClusterPaths, capfd: pytest.CaptureFixture[str]
) -> None:
    (created.logs / "kubelet-lab-1.log").write_text("one\ntwo\nthree\n")
    (created.logs / "local-up.log").touch()
    listed = devctl("logs", "--name", NAME).stdout.splitlines()
    assert [line.split() for line in listed] == [
        ["kubelet-lab-1", "14", "bytes"],
        ["local-up", "0", "bytes"],
    ]
    devctl("logs", "--name", NAME, "kubelet-lab-1", "--tail", "2")
    assert capfd.readouterr().out == "two\nthree\n"


@pytest.mark.usefixtures("created")
@pytest.mark.parametrize("log", ["nothing", "../cluster", "/etc/passwd"])
def test_a_log_that_is_none_of_the_clusters_is_not_shown(log: str) -> None:
    result = devctl("logs", "--name", NAME, log)
    assert isinstance(result.exception, NotFoundError)
    assert result.exception.message == f"there is no log `{log}`"


@pytest.mark.usefixtures("created")
def test_load_needs_a_cluster_that_is_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("devctl.local.machine.check_caller", lambda: None)
    (tmp_path / "image.tar").touch()
    result = devctl("load", "--name", NAME, str(tmp_path / "image.tar"))
    assert str(result.exception) == f"cluster `{NAME}` is not up"
