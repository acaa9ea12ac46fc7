"""The agent's loop, with a gateway that speaks TLS and answers as a test wants."""

from __future__ import annotations

import json
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gpu_worker_agent.agent import Agent
from devctl_gpu_worker_agent.cluster import ApiError
from devctl_gpu_worker_agent.facts import Facts, Free
from devctl_gpu_worker_agent.gateway import Gateway, GatewayError
from devctl_gpu_worker_agent.looking import Seen
from devctl_gpu_worker_agent.shelf import Shelf, Token

from unit.tls_server import serving, speak_tls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FACTS = Facts("gpu-server-1", "gpu-server-1.local", 2, "RTX 4090", 24576, 16, 32768)
SEEN = Seen(FACTS, Free(40000, 14, 1))
ID = "gpu-e5be90b5e5d6"
REGISTER, INTRODUCE = "/gpu-workers/nodes/register", "/gpu-workers/agents/register"
HEARTBEAT = f"/gpu-workers/nodes/{ID}/heartbeat"
Thing = dict[str, Any]


class Server:
    """The gateway: it knows some tokens, and gives keys."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[tuple[str, str, Thing]] = []
        self.tokens = {"account-token"}
        self.keys: list[str] = []
        self.text = b""
        self.refusal: tuple[int, Thing, dict[str, str]] | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                token = self.headers["Authorization"].removeprefix("Bearer ")
                outer.asked.append((self.path, token, body))
                code, answer, headers = outer.answer(self.path, token)
                data = outer.text or json.dumps(answer).encode()
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.port = speak_tls(self.http, folder)
        self.authority = folder / "ca.crt"

    def answer(self, path: str, token: str) -> tuple[int, Thing, dict[str, str]]:
        if self.refusal:
            return self.refusal
        known = self.tokens if path == REGISTER else self.keys[-1:]
        if token not in known:
            return 401, {"title": "Unauthorized", "detail": f"`{token[:3]}` is not known"}, {}
        if path == REGISTER:
            self.keys.append(f"key-{len(self.keys)}")
            return 201, {"node_id": ID, "api_key": self.keys[-1], "heartbeat_seconds": 20}, {}
        return 200, {"node_id": ID, "state": "active", "heartbeat_seconds": 10}, {}

    @property
    def paths(self) -> list[str]:
        return [path for path, _, _ in self.asked]

    def gateway(self) -> Gateway:
        return Gateway(f"https://127.0.0.1:{self.port}", self.authority)


@pytest.fixture
def server(tmp_path: Path, socket_enabled: None) -> Iterator[Server]:  # noqa: ARG001
    server = Server(tmp_path)
    with serving(server.http):
        yield server


class Machine:
    """What an agent finds around it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.shelf = server, Shelf(folder / "membership.json")
        self.seen: Seen | Exception = SEEN
        self.tokens = [Token("service account", "account-token")]
        self.now = 1000.0

    def look(self) -> Seen:
        if isinstance(self.seen, Exception):
            raise self.seen
        return self.seen

    def agent(self) -> Agent:
        return Agent(
            self.server.gateway(),
            self.look,
            lambda: self.tokens,
            self.shelf,
            version="0.1.0",
            most_jobs=0,
            clock=lambda: self.now,
            random=lambda: 1.0,
        )


@pytest.fixture
def machine(server: Server, tmp_path: Path) -> Machine:
    return Machine(server, tmp_path)


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("INFO")
    return caplog


def test_a_node_registers_once_and_reports_from_then_on(machine: Machine, server: Server) -> None:
    agent = machine.agent()
    assert agent.step() == agent.step() == 10, "as the last answer asks for"
    assert server.paths == [REGISTER, INTRODUCE, HEARTBEAT, HEARTBEAT]
    (_, token, body) = server.asked[0]
    assert (token, body["node_name"]) == ("account-token", "gpu-server-1")
    assert server.asked[1][1:] == ("key-0", {"node_id": ID, "agent_version": "0.1.0"})
    assert server.asked[2][1] == "key-0"
    assert server.asked[2][2]["gpu_memory_available"] == 40000
    assert agent.is_ready


def test_the_log_says_what_happens_and_no_token(
    machine: Machine, log: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    agent = machine.agent()
    for _ in range(9):
        agent.step()
    assert log.messages == [
        f"registered as {ID} by its service account: 2 x RTX 4090 of 24576 MB",
        f"{ID} is active, healthy; free: 40000 MB of GPU memory, 14 cores; jobs: 1",
    ]
    machine.server.keys.clear()
    machine.tokens = [Token("registration token", "other-secret")]
    for _ in range(9):
        agent.step()
    text = "\n".join(log.messages)
    for secret in ("account-token", "other-secret", "key-0"):
        assert secret not in text
    assert "the gateway: the node cannot register: registration token: HTTP 401" in text
    assert not (tmp_path / "membership.json").exists()


def test_the_next_container_of_a_pod_goes_on_with_its_key(machine: Machine, server: Server) -> None:
    machine.agent().step()
    machine.agent().step()
    assert server.paths == [REGISTER, INTRODUCE, HEARTBEAT, INTRODUCE, HEARTBEAT]


def test_with_a_revoked_key_it_registers_again(machine: Machine, server: Server) -> None:
    agent = machine.agent()
    agent.step()
    server.keys.append("another")
    assert agent.step() == 1, "soon"
    agent.step()
    assert server.paths[3:] == [HEARTBEAT, REGISTER, INTRODUCE, HEARTBEAT]
    assert server.asked[-1][1] == "key-2"


def test_a_token_that_is_refused_is_followed_by_the_next(machine: Machine, server: Server) -> None:
    server.tokens = {"registration"}
    machine.tokens.append(Token("registration token", "registration"))
    machine.agent().step()
    assert [token for _, token, _ in server.asked[:2]] == ["account-token", "registration"]
    assert len(server.keys) == 1


def test_without_any_token_it_says_what_to_create(
    machine: Machine, server: Server, log: pytest.LogCaptureFixture
) -> None:
    machine.tokens = []
    agent = machine.agent()
    agent.step()
    assert server.asked == []
    assert "create the Secret imagepod-secrets" in log.text
    assert not agent.is_ready


def test_failures_are_waited_out_longer_and_longer_and_as_long_as_asked_for(
    machine: Machine, server: Server, log: pytest.LogCaptureFixture
) -> None:
    agent = machine.agent()
    agent.step()
    server.refusal = 503, {"title": "Unavailable", "detail": "the database is away"}, {}
    assert [agent.step() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert log.messages[-1] == "the gateway: HTTP 503: Unavailable: the database is away"
    server.refusal = 429, {"title": "Too many"}, {"Retry-After": "60"}
    assert agent.step() == 60
    server.refusal = None
    assert agent.step() == 10
    server.refusal = 503, {}, {}
    assert agent.step() == 1, "anew"


def test_a_gateway_that_cannot_register_now_is_asked_again_with_no_other_token(
    machine: Machine, server: Server
) -> None:
    machine.tokens.append(Token("registration token", "single-use"))
    server.refusal = 503, {"title": "Unavailable"}, {}
    agent = machine.agent()
    assert [agent.step(), agent.step()] == [1, 2]
    assert {token for _, token, _ in server.asked} == {"account-token"}


def test_what_else_answers_than_the_gateway_is_quoted_without_controls(
    machine: Machine, server: Server, log: pytest.LogCaptureFixture
) -> None:
    server.text = b"<html>\x1b[2J"
    machine.agent().step()
    assert log.messages == ["the gateway's answer has no `node_id`, or no `api_key`"]
    server.refusal = 502, {}, {}
    machine.agent().step()
    assert log.messages[-1] == "the gateway: HTTP 502: <html>?[2J"


def test_an_api_server_that_is_away_is_waited_for(
    machine: Machine, server: Server, log: pytest.LogCaptureFixture
) -> None:
    machine.seen = ApiError("the API server: ConnectionRefusedError")
    agent = machine.agent()
    assert [agent.step(), agent.step()] == [1, 2]
    assert server.asked == []
    assert log.messages == ["the API server: ConnectionRefusedError"]


def test_a_node_without_gpus_registers_once_it_has_some(machine: Machine, server: Server) -> None:
    machine.seen = SEEN._replace(facts=replace(FACTS, gpu_count=0))
    agent = machine.agent()
    assert agent.step() == 60
    assert (server.asked, agent.is_ready) == ([], True)
    machine.seen = SEEN
    agent.step()
    assert server.paths[0] == REGISTER


def test_a_node_that_has_changed_says_so(machine: Machine, server: Server) -> None:
    agent = machine.agent()
    agent.step()
    machine.seen = SEEN._replace(facts=replace(FACTS, gpu_count=1))
    agent.step()
    agent.step()
    assert server.paths[3:] == [REGISTER, INTRODUCE, HEARTBEAT, HEARTBEAT]
    assert server.asked[3][2]["gpu_count"] == 1


def test_a_change_that_is_refused_ends_no_reports_and_is_tried_again_later(
    machine: Machine, server: Server, log: pytest.LogCaptureFixture
) -> None:
    agent = machine.agent()
    agent.step()
    server.tokens.clear()
    machine.seen = SEEN._replace(facts=replace(FACTS, gpu_count=1))
    assert agent.step() == 10
    assert "the node has changed, which the gateway cannot be told" in log.text
    agent.step()
    assert server.paths[3:] == [REGISTER, HEARTBEAT, HEARTBEAT]
    machine.now += 601
    agent.step()
    assert server.paths[6:] == [REGISTER, HEARTBEAT]


def test_a_gateway_with_another_authority_gets_no_token(
    machine: Machine, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("other")
    other = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    speak_tls(other, folder)
    other.server_close()
    gateway = Gateway(f"https://127.0.0.1:{server.port}", folder / "ca.crt")
    with pytest.raises(GatewayError, match="CERTIFICATE_VERIFY_FAILED"):
        gateway.post("nodes/register", "account-token", {})
    assert server.asked == []
    assert machine.agent().step() == 10


def test_what_is_no_header_is_not_quoted(server: Server) -> None:
    with pytest.raises(GatewayError) as raised:
        server.gateway().post("nodes/register", "secret\nX: y", {})
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("url", ["", "gateway", "ftp://gateway", "https://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Gateway(url)


def test_tokens_are_sent_unprotected_to_this_machine_alone() -> None:
    Gateway("http://localhost:8000")
    with pytest.raises(ValueError, match="would send tokens unprotected"):
        Gateway("http://gateway.example")


def test_on_this_machine_it_may_speak_without_tls(
    socket_enabled: None,  # noqa: ARG001
) -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    with serving(http):
        gateway = Gateway(f"http://127.0.0.1:{http.server_address[1]}/base/")
        assert gateway.post("nodes/register", "token", {}) is None
    assert asked == ["/base/gpu-workers/nodes/register"]
