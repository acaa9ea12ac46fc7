"""What the agent asks of the API server, and its process."""

from __future__ import annotations

import json
import signal
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from devctl_gpu_worker_agent import __main__ as program
from devctl_gpu_worker_agent.agent import Agent
from devctl_gpu_worker_agent.cluster import ApiError, ApiServer

from unit.tls_server import serving, speak_tls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Thing = dict[str, Any]


class Server:
    """An API server with two pages of pods."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        self.refusals: dict[str, tuple[int, Thing]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                code, answer = outer.answer(self.path)
                data = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.api = ApiServer("127.0.0.1", speak_tls(self.http, folder), folder)

    def answer(self, path: str) -> tuple[int, Thing]:
        parts = urlsplit(path)
        if parts.path in self.refusals:
            return self.refusals[parts.path]
        query = parse_qs(parts.query)
        if parts.path.endswith("/pods"):
            if "continue" in query:
                return 200, {"items": [{"n": 3}], "metadata": {}}
            return 200, {"items": [{"n": 1}, {"n": 2}], "metadata": {"continue": "a&b"}}
        if parts.path.endswith("/resourceslices"):
            return 200, {"items": [{"spec": {"devices": []}}]}
        return 200, {"kind": "Node"}


@pytest.fixture
def server(tmp_path: Path, socket_enabled: None) -> Iterator[Server]:  # noqa: ARG001
    server = Server(tmp_path)
    with serving(server.http):
        yield server


def test_pods_of_the_node_alone_are_read_page_by_page(server: Server) -> None:
    assert [pod["n"] for pod in server.api.pods("node-1")] == [1, 2, 3]
    first, second = (parse_qs(urlsplit(path).query) for path in server.asked)
    assert first == {"fieldSelector": ["spec.nodeName=node-1"], "limit": ["50"]}
    assert second == first | {"continue": ["a&b"]}


def test_slices_of_the_node_and_of_the_driver_are_asked_for(server: Server) -> None:
    assert len(server.api.slices("node-1")) == 1
    selected = parse_qs(urlsplit(server.asked[0]).query)["fieldSelector"]
    assert selected == ["spec.driver=canhazgpu.com,spec.nodeName=node-1"]


def test_a_cluster_without_slices_has_none(server: Server) -> None:
    server.refusals["/apis/resource.k8s.io/v1/resourceslices"] = 404, {"message": "no such kind"}
    assert server.api.slices("node-1") == []


@pytest.mark.parametrize("answer", [{"message": "nodes is forbidden"}, [1], "proxy\x1b[2J"])
def test_a_refusal_says_why(server: Server, answer: Any) -> None:
    server.refusals["/api/v1/nodes/node-1"] = 403, answer
    with pytest.raises(ApiError, match="the API server: HTTP 403: ") as raised:
        server.api.node("node-1")
    assert str(raised.value).isprintable()


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(signal, "alarm", lambda _: 0)
    for name, value in (
        ("NODE_NAME", "node-1"),
        ("GATEWAY_URL", "https://gateway.example"),
        ("STATE_FOLDER", str(tmp_path)),
        ("KUBERNETES_SERVICE_HOST", "127.0.0.1"),
        ("KUBERNETES_SERVICE_PORT", "1"),
    ):
        monkeypatch.setenv(name, value)
    return monkeypatch


class EndError(Exception):
    """Ends the loop."""


def test_it_runs_until_it_is_ended_and_says_when_it_is_ready(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pauses: list[float] = []
    seen: list[tuple[bool, bool]] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        seen.append(((tmp_path / "alive").exists(), (tmp_path / "ready").exists()))
        if len(pauses) == 2:
            raise EndError

    def step(agent: Agent) -> float:
        agent.is_ready = bool(pauses)
        return 3.0

    environment.setattr(program, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    environment.setattr(Agent, "step", step)
    with pytest.raises(EndError):
        program.main()
    assert pauses == [3.0, 3.0]
    assert seen == [(True, False), (True, True)]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("NODE_NAME", "", "the variable NODE_NAME is not set"),
        ("GATEWAY_URL", "http://gateway.example", "would send tokens unprotected"),
        ("MAX_CONCURRENT_JOBS", "many", "MAX_CONCURRENT_JOBS is `many`"),
        ("KUBERNETES_SERVICE_HOST", None, "KUBERNETES_SERVICE_HOST"),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    environment: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    value: str | None,
    said: str,
) -> None:
    if value is None:
        environment.delenv(name)
    else:
        environment.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 2
    assert said in caplog.text
