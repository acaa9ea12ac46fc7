from __future__ import annotations

import signal
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from devctl_node_agent import __main__ as program
from devctl_node_agent.agent import Agent
from support.node_tree import OWN, Tree, uid

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(signal, "alarm", lambda _: 0)
    monkeypatch.setattr(program, "READY", tmp_path / "ready")
    for name, value in (
        ("CGROUP_ROOT", str(Tree(tmp_path / "node").cgroup)),
        ("POD_UID", OWN),
        ("NODE_NAME", "node-1"),
        ("KUBERNETES_SERVICE_HOST", "127.0.0.1"),
        ("KUBERNETES_SERVICE_PORT", "1"),
    ):
        monkeypatch.setenv(name, value)
    return monkeypatch


class EndError(Exception):
    """Ends the loop."""


def test_it_runs_until_it_is_ended_and_says_when_it_is_ready(
    settings: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pauses = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise EndError

    def step(agent: Agent) -> float:
        agent.is_ready = bool(pauses)
        return 3.0

    # Its own only: threads that other tests have left behind sleep as well.
    settings.setattr(program, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    settings.setattr(Agent, "step", step)
    with pytest.raises(EndError):
        program.main()
    assert pauses == [3.0, 3.0]
    assert (tmp_path / "ready").exists()


@pytest.mark.parametrize("name", ["NODE_NAME", "POD_UID", "KUBERNETES_SERVICE_HOST"])
def test_a_missing_setting_is_named(
    settings: pytest.MonkeyPatch, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings.delenv(name)
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 2
    assert name in caplog.text


def test_a_node_whose_pods_are_not_found_ends_the_agent(
    settings: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.setenv("POD_UID", uid(9))
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 2
    assert "is not below" in caplog.text
