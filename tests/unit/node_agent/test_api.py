"""The agent's request, to a server with TLS that answers as a test wants."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from devctl_node_agent.api import ApiServer, ReportError
from devctl_node_agent.schedule import Answer

from unit.kube.certificates import make_certificates
from unit.tls_server import serving, speak_tls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STATUS = {"sequence": 1}


class Server:
    """An API server."""

    def __init__(self, folder: Path) -> None:
        self.answer: tuple[int, bytes] = (200, b'{"spec": {}}')
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_PATCH(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((self.command, self.path, dict(self.headers), body))
                code, data = outer.answer
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.port = speak_tls(self.http, folder)
        self.account = folder

    def api(self) -> ApiServer:
        return ApiServer("127.0.0.1", self.port, self.account)


@pytest.fixture
def server(tmp_path: Path, socket_enabled: None) -> Iterator[Server]:  # noqa: ARG001
    server = Server(tmp_path)
    with serving(server.http):
        yield server


def test_a_report_is_a_patch_of_the_nodes_own_status(server: Server) -> None:
    assert server.api().report("node-1", STATUS) == {"spec": {}}
    ((method, path, headers, body),) = server.asked
    assert (method, body) == ("PATCH", {"status": STATUS})
    base = "/apis/devops.yourcompany.com/v1/nodeactivities/node-1/status"
    assert path == f"{base}?fieldManager=devctl-node-agent"
    assert headers["Authorization"] == "Bearer first"
    assert headers["Content-Type"] == "application/merge-patch+json"


def test_a_token_that_was_rotated_is_used(server: Server) -> None:
    api = server.api()
    api.report("node-1", STATUS)
    (server.account / "token").write_text("second\n")
    api.report("node-1", STATUS)
    assert [headers["Authorization"] for _, _, headers, _ in server.asked] == [
        "Bearer first",
        "Bearer second",
    ]


@pytest.mark.parametrize(
    ("code", "data", "answer", "said"),
    [
        (404, b"{}", Answer.ABSENT, "the observer has not created it yet"),
        (403, b'{"message": "not\\nyours"}', Answer.FAILED, r"HTTP 403: not\?yours"),
        (500, b"<html>", Answer.FAILED, "HTTP 500: <html>"),
        (503, b"[]", Answer.FAILED, r"HTTP 503: \[\]"),
        (200, b"<html>", Answer.FAILED, "JSONDecodeError"),
        (200, b"null", Answer.FAILED, "HTTP 200: null"),
    ],
)
def test_what_is_not_accepted_is_a_report_error(
    server: Server, code: int, data: bytes, answer: Answer, said: str
) -> None:
    server.answer = (code, data)
    with pytest.raises(ReportError, match=said) as raised:
        server.api().report("node-1", STATUS)
    assert raised.value.answer is answer


def test_a_server_of_another_authority_gets_no_token(server: Server, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = make_certificates(tmp_path / "other")
    (server.account / "ca.crt").write_bytes(other.authority.read_bytes())
    with pytest.raises(ReportError, match="SSLCertVerificationError"):
        server.api().report("node-1", STATUS)
    assert server.asked == []


def test_a_server_that_is_away_is_a_report_error(server: Server) -> None:
    api = ApiServer("127.0.0.1", 1, server.account)
    with pytest.raises(ReportError, match="ConnectionRefusedError"):
        api.report("node-1", STATUS)


def test_an_account_without_a_token_is_a_report_error(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="FileNotFoundError"):
        ApiServer("127.0.0.1", 1, tmp_path).report("node-1", STATUS)


def test_the_kubelet_names_the_server() -> None:
    with pytest.raises(KeyError, match="KUBERNETES_SERVICE_HOST"):
        ApiServer.from_environment({})
    ApiServer.from_environment(
        {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    )
