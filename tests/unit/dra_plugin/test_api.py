"""The plugin's requests, to a server with TLS that answers as a test wants."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from devctl_dra_plugin.api import ApiError, ApiServer

from unit.tls_server import serving, speak_tls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Server:
    """An API server."""

    def __init__(self, folder: Path) -> None:
        self.answer: tuple[int, bytes] = (200, b'{"kind": "Node"}')
        self.asked: list[tuple[str, str, str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                body = json.loads(self.rfile.read(length)) if length else None
                token = self.headers["Authorization"]
                outer.asked.append((self.command, self.path, token, body))
                code, data = outer.answer
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def __getattr__(self, name: str) -> Any:
                if name in {"do_GET", "do_POST", "do_PUT"}:
                    return self.do
                raise AttributeError(name)

            def log_message(self, *_: object) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        port = speak_tls(self.http, folder)
        self.account = folder
        self.api = ApiServer("127.0.0.1", port, folder)


@pytest.fixture
def server(tmp_path: Path, socket_enabled: None) -> Iterator[Server]:  # noqa: ARG001
    server = Server(tmp_path)
    with serving(server.http):
        yield server


def test_objects_are_read_and_written(server: Server) -> None:
    assert server.api.get("/api/v1/nodes/a") == {"kind": "Node"}
    (server.account / "token").write_text("second\n")
    server.api.replace("/x/1", {"a": 1})
    server.answer = (201, b"{}")
    server.api.create("/x", {"b": 2})
    field = "?fieldManager=canhazgpu-kubeletplugin"
    assert server.asked == [
        ("GET", "/api/v1/nodes/a", "Bearer first", None),
        ("PUT", f"/x/1{field}", "Bearer second", {"a": 1}),
        ("POST", f"/x{field}", "Bearer second", {"b": 2}),
    ]


def test_what_is_not_there_is_none(server: Server) -> None:
    server.answer = (404, b'{"kind": "Status", "message": "not found"}')
    assert server.api.get("/x") is None
    with pytest.raises(ApiError, match="HTTP 404: not found"):
        server.api.replace("/x", {})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((403, b'{"message": "this plugin runs on node `a`"}'), "HTTP 403: this plugin runs on"),
        ((503, b"upstream is away"), "HTTP 503: upstream is away"),
        ((200, b"<html>"), "HTTP 200: <html>"),
    ],
)
def test_what_is_refused_says_why(server: Server, answer: tuple[int, bytes], said: str) -> None:
    server.answer = answer
    with pytest.raises(ApiError, match=said):
        server.api.get("/x")


def test_a_server_that_is_away_is_an_error(server: Server) -> None:
    with pytest.raises(ApiError, match="the API server: "):
        ApiServer("127.0.0.1", 1, server.account).get("/x")
    (server.account / "token").unlink()
    with pytest.raises(ApiError, match="FileNotFoundError"):
        server.api.get("/x")


def test_the_kubelet_says_where_it_is() -> None:
    with pytest.raises(KeyError, match="KUBERNETES_SERVICE_PORT"):
        ApiServer.from_environment({"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
