from __future__ import annotations

from pathlib import Path

import pytest

from devctl.errors import UsageError
from devctl.local import deploy, playbook
from devctl.local.deploy import Target, foreign_target

KUBECTL = Path("/usr/bin/kubectl")
COMPLETE = {
    "KUBECONFIG": "/home/me/config",
    "DEVCTL_OPERATOR_IMAGE": "registry.example/op:1",
    "DEVCTL_OBSERVER_IMAGE": "registry.example/ob:1",
    "DEVCTL_NODE_AGENT_IMAGE": "registry.example/na:1",
}
IMAGES = {
    "devctl-operator": "registry.example/op:1",
    "devctl-observer": "registry.example/ob:1",
    "devctl-node-agent": "registry.example/na:1",
}


@pytest.mark.parametrize(
    ("extra", "overlay"), [({}, "default"), ({"DEVCTL_OVERLAY": "eks"}, "eks")]
)
def test_another_cluster_is_named_by_the_environment(extra: dict[str, str], overlay: str) -> None:
    target = foreign_target(COMPLETE | extra, KUBECTL)
    config = Path("/home/me/config")
    assert target == Target(KUBECTL, config, IMAGES, overlay)
    assert target.variables() == {
        "deploy_operator_kubectl": str(KUBECTL),
        "deploy_operator_kubeconfig": str(config),
        "deploy_operator_images": IMAGES,
        "deploy_operator_overlay": overlay,
    }


def test_a_relative_kubeconfig_is_meant_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = foreign_target(COMPLETE | {"KUBECONFIG": "config"}, KUBECTL)
    assert target.kubeconfig == tmp_path / "config"


@pytest.mark.parametrize(
    ("environment", "kubectl", "said"),
    [
        ({"KUBECONFIG": "/config"}, KUBECTL, "DEVCTL_OPERATOR_IMAGE is not set"),
        (COMPLETE | {"DEVCTL_OBSERVER_IMAGE": ""}, KUBECTL, "DEVCTL_OBSERVER_IMAGE is not set"),
        (COMPLETE | {"DEVCTL_NODE_AGENT_IMAGE": ""}, KUBECTL, "DEVCTL_NODE_AGENT_IMAGE is not set"),
        (COMPLETE, None, "no kubectl on PATH"),
    ],
)
def test_what_is_missing_to_reach_another_cluster_is_named(
    environment: dict[str, str], kubectl: Path | None, said: str
) -> None:
    with pytest.raises(UsageError, match=f"^{said}$"):
        foreign_target(environment, kubectl)


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(
        KUBECTL, Path("/config"), {"devctl-operator": "op:1", "devctl-observer": "ob:1"}, "default"
    )
    monkeypatch.setenv("KUBECONFIG", "/config")
    monkeypatch.setattr(deploy, "foreign_target", lambda _environment, _kubectl: target)


@pytest.mark.usefixtures("reachable")
def test_deploy_ends_with_the_next_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(playbook, "run", lambda *_: 0)
    deploy.main()
    operator, observer, following = capsys.readouterr().out.splitlines()
    assert operator.startswith("devctl-operator `op:1` runs")
    assert observer.startswith("devctl-observer `ob:1` runs")
    assert following.startswith("next: export KUBECONFIG=/config; ")


@pytest.mark.usefixtures("reachable")
def test_a_failed_deploy_promises_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(playbook, "run", lambda *_: 2)
    with pytest.raises(SystemExit) as raised:
        deploy.main()
    assert raised.value.code == 1
    # The playbook has told what is wrong.
    assert capsys.readouterr() == ("", "")


def test_a_deploy_that_cannot_begin_is_two_lines_and_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/config")
    with pytest.raises(SystemExit) as raised:
        deploy.main()
    assert raised.value.code == 2
    error, fix = capsys.readouterr().err.splitlines()
    assert error == "error: DEVCTL_OPERATOR_IMAGE is not set"
    assert fix.startswith("  fix: ")
