"""The parts together: a plan comes in, a mirror appears, a report goes out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from devctl_cache_agent import __main__ as process
from devctl_cache_agent import settings
from devctl_cache_agent.__main__ import Agent, main, secret
from devctl_cache_agent.api import ApiError
from devctl_cache_agent.fetching import Web

from unit.cache_agent.items import plan
from unit.cache_agent.test_mirrors import URL, Origin
from unit.cache_agent.test_runtime import Node

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MIRROR = {
    "type": "gitRepo",
    "name": "repo",
    "scope": "nodeSelector",
    "nodeSelector": {"gpu": "a"},
    "gitRepo": {"url": URL},
}
IMAGE = {"type": "image", "name": "vllm", "image": {"ref": "vllm:1"}}


class Api:
    """An API server with a plan."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = [MIRROR, IMAGE]
        self.labels: dict[str, str] = {"gpu": "a"}
        self.reports: list[Mapping[str, Any]] = []
        self.problem: ApiError | None = None
        self.waits: list[int] = []

    def plan(self) -> tuple[Any, str]:
        if self.problem:
            raise self.problem
        return plan(*self.items), "1"

    def node(self, name: str) -> Any:
        return {"metadata": {"name": name, "uid": "u", "labels": self.labels}}

    def wait_for_plan(self, version: str, seconds: int) -> None:
        assert version == "1"
        self.waits.append(seconds)

    def report(self, node: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        assert node["metadata"]["name"] == "node-1"
        self.reports.append(status)


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def agent(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    node = Node()
    monkeypatch.setattr(process, "over", lambda _socket: node)
    monkeypatch.setattr(process, "READY", tmp_path / "ready")
    origin = Origin(tmp_path / "origin")
    chosen = settings.read(
        {
            "NODE_NAME": "node-1",
            "CACHE_ROOT": str(tmp_path / "cache"),
            "CACHE_FREE_PERCENT": "0",
            "GIT_PROTOCOLS": "file",
            "GIT_MIRRORS": f"{URL}=file://{origin.folder}",
        }
    )
    web = Web(chosen.endpoint, lambda: None)
    return Agent(chosen, api, web, os.environ)  # type: ignore[arg-type] # what it asks of it


def look(agent: Agent) -> list[float]:
    pauses: list[float] = []
    agent.look(pauses.append)
    return pauses


def test_what_the_plan_wants_of_the_node_is_fetched_and_reported(agent: Agent, api: Api) -> None:
    look(agent)
    agent.step_files()
    agent.images.step()
    agent.reporter.step()
    (status,) = api.reports
    assert [each["status"] for each in status["gitRepos"] + status["images"]] == ["ready"] * 2
    assert status["errors"] == []
    assert status["lastUpdate"]
    assert agent.wanted() == {"git/repo"}


def test_a_node_with_other_labels_keeps_nothing(agent: Agent, api: Api) -> None:
    api.labels = {}
    look(agent)
    agent.step_files()
    agent.reporter.step()
    assert api.reports[0]["gitRepos"] == []


def test_an_api_server_that_is_away_changes_nothing_that_is_wanted(agent: Agent, api: Api) -> None:
    look(agent)
    api.problem = ApiError("HTTP 503")
    assert sum(look(agent)) >= 5
    assert len(agent.board.items()) == 2
    assert agent.board.content()["errors"] == ["HTTP 503"]
    api.problem = None
    look(agent)
    assert agent.board.content()["errors"] == []


@pytest.mark.parametrize("problem", [None, ApiError("HTTP 404")])
def test_it_is_ready_before_it_waits(
    agent: Agent, api: Api, monkeypatch: pytest.MonkeyPatch, problem: ApiError | None
) -> None:
    api.problem = problem
    was_ready: list[bool] = []
    monkeypatch.setattr(api, "wait_for_plan", lambda *_: was_ready.append(process.READY.exists()))
    agent.look(lambda _seconds: was_ready.append(process.READY.exists()))
    assert was_ready
    assert all(was_ready)


def test_what_is_half_fetched_and_not_wanted_goes_now_and_then(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = tmp_path / "cache/.staging/model-x"
    half.mkdir()
    monkeypatch.setattr(process, "_TOUCH", -1.0)
    agent.step_files()
    # Before the plan was read, nothing is known to be unwanted.
    assert half.exists()
    look(agent)
    agent.step_files()
    assert not half.exists()


def test_the_page_needs_the_secrets_token(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "secret", lambda *_: "t" * 32)
    assert agent.page("/status", "Bearer " + "t" * 32).code == 200
    assert agent.page("/healthz", "Bearer " + "t" * 32).code == 503
    monkeypatch.setattr(process, "secret", lambda *_: secret("none", "token", tmp_path))
    assert agent.page("/status", "Bearer ").code == 401


def test_secrets_may_be_missing_and_come_later(tmp_path: Path) -> None:
    assert secret("hf-token", "token", tmp_path) is None
    (tmp_path / "hf-token").mkdir()
    (tmp_path / "hf-token/token").write_text("hf_x\n")
    assert secret("hf-token", "token", tmp_path) == "hf_x"


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"NODE_NAME": "n"},
        {"NODE_NAME": "n", "GIT_PROTOCOLS": "ext"},
        {
            "NODE_NAME": "n",
            "KUBERNETES_SERVICE_HOST": "h",
            "KUBERNETES_SERVICE_PORT": "1",
            "HF_ENDPOINT": "ftp://x",
        },
    ],
)
def test_settings_that_are_not_valid_end_the_process(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(SystemExit) as raised:
        main(environment)
    assert raised.value.code == 2
