"""The agent's requests, to a server with TLS that answers as a test wants."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from devctl_cache_agent.api import ApiError, ApiServer

from unit.tls_server import serving, speak_tls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NODE = {"metadata": {"name": "node-1", "uid": "u-1"}}
OWN = "/apis/canhazgpu.dev/v1alpha1/nodecachestatuses"


class Server:
    """An API server."""

    def __init__(self, folder: Path) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[tuple[str, str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                assert self.headers["Authorization"] == "Bearer first"
                outer.asked.append((self.command, self.path, json.loads(body) if body else None))
                code, content = outer.answers.pop(0)
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = answer  # noqa: N815 - names of the library

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        port = speak_tls(self.http, folder)
        self.api = ApiServer("127.0.0.1", port, folder)


@pytest.fixture
def server(tmp_path: Path, socket_enabled: None) -> Iterator[Server]:  # noqa: ARG001
    server = Server(tmp_path)
    with serving(server.http):
        yield server


def test_the_plan_is_read_and_watched_by_name(server: Server) -> None:
    server.answers = [
        (200, {"metadata": {"resourceVersion": "7"}, "items": [{"spec": {}}]}),
        (200, b'{"type": "MODIFIED"}\n'),
    ]
    assert server.api.plan() == ({"spec": {}}, "7")
    server.api.wait_for_plan("7", 60)
    plans = "/apis/canhazgpu.dev/v1alpha1/cacheplans?fieldSelector=metadata.name%3Ddefault"
    assert [path for _, path, _ in server.asked] == [
        plans,
        f"{plans}&watch=true&resourceVersion=7&timeoutSeconds=60",
    ]


def test_there_may_be_no_plan(server: Server) -> None:
    server.answers = [(200, {"items": []}), (200, {"items": None})]
    assert server.api.plan() == server.api.plan() == (None, "")


def test_a_report_is_a_patch_of_the_own_status(server: Server) -> None:
    server.answers = [(200, {})]
    server.api.report(NODE, {"images": []})
    path = f"{OWN}/node-1/status?fieldManager=canhazgpu-nodeagent"
    assert server.asked == [("PATCH", path, {"status": {"images": []}})]


def test_the_first_report_creates_the_object_which_goes_with_its_node(server: Server) -> None:
    server.answers = [(404, {}), (201, {}), (200, {})]
    server.api.report(NODE, {})
    assert [method for method, _, _ in server.asked] == ["PATCH", "POST", "PATCH"]
    made = server.asked[1][2]
    assert made["metadata"] == {
        "name": "node-1",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "u-1"}],
    }


def test_a_node_is_read_by_name(server: Server) -> None:
    server.answers = [(200, NODE)]
    assert server.api.node("node-1") == NODE


@pytest.mark.parametrize(
    ("code", "content", "said"),
    [
        (403, {"message": "not\nyours"}, r"HTTP 403: not\?yours"),
        (500, b"<html>", "HTTP 500: <html>"),
        (200, b"[]", r"HTTP 200: \[\]"),
    ],
)
def test_what_is_not_accepted_is_an_error(
    server: Server, code: int, content: Any, said: str
) -> None:
    server.answers = [(code, content)] * 3
    with pytest.raises(ApiError, match=said):
        server.api.report(NODE, {})
    with pytest.raises(ApiError, match=said):
        server.api.plan()
    if code != 200:
        with pytest.raises(ApiError, match=f"HTTP {code}"):
            server.api.wait_for_plan("7", 1)


def test_a_server_that_is_away_is_an_error(server: Server, tmp_path: Path) -> None:
    away = ApiServer("127.0.0.1", 1, tmp_path)
    for ask in (away.plan, lambda: away.wait_for_plan("1", 1)):
        with pytest.raises(ApiError, match="ConnectionRefusedError"):
            ask()
    assert server.asked == []


def test_the_kubelet_names_the_server() -> None:
    with pytest.raises(KeyError, match="KUBERNETES_SERVICE_HOST"):
        ApiServer.from_environment({})
    ApiServer.from_environment(
        {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    )
