"""A proxy before the API server that loses, refuses and cuts off writes, as networks do."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import select
import socket
import ssl
import struct
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WRITES = {"PATCH", "POST", "PUT", "DELETE"}
_ANSWERS = {
    "409": (409, "Conflict", "the object has been modified"),
    "429": (429, "TooManyRequests", "slow down"),
    "500": (500, "InternalError", "etcd has a bad day"),
}
_PATIENCE = 60.0
"""Seconds, far more than any client of ours waits for an answer."""
# Of one connection, and so not passed on.
_OWN = {"connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade"}


class Fault(StrEnum):
    """What happens to a write."""

    CONFLICT = "409"
    THROTTLED = "429"
    BROKEN = "500"
    LOST = "the connection ends before the write"
    UNANSWERED = "the connection ends after the write"
    RESET = "the connection is reset in the middle of the answer"
    TOO_LATE = "the answer comes after the client's patience"


@dataclass
class FaultProxy:
    """What is to go wrong, and what was asked.

    Attributes:
        fault: What happens to each write's first attempt.
        after_write: Called with the write that was just made, before it is answered.
        writes: What reached the API server, such as `PATCH /api/v1/namespaces/default/pods/a`.
        attempts: How often each was tried.
        kubeconfig: With which a client goes through here.
    """

    kubeconfig: Path
    fault: Fault | None = None
    after_write: Callable[[str], None] = lambda _: None
    writes: list[str] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)

    def strikes(self, request: str) -> bool:
        """Whether this attempt is one to fail."""
        self.attempts[request] += 1
        return self.fault is not None and self.attempts[request] == 1

    def calm_down(self) -> None:
        """Let everything through from now on, and forget what was asked."""
        self.fault, self.after_write = None, lambda _: None
        self.writes.clear()
        self.attempts.clear()


@contextmanager
def fault_proxy(kubeconfig: Path, folder: Path) -> Iterator[FaultProxy]:
    """A proxy for the cluster and the user of a kubeconfig; its own kubeconfig is in `folder`."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster.pop("certificate-authority-data")).decode()
    context = ssl.create_default_context(cadata=authority)
    if "client-certificate-data" in user:
        for name in ("certificate", "key"):
            text = base64.b64decode(user.pop(f"client-{name}-data"))
            (folder / f"{name}.pem").write_bytes(text)
        context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    proxy = FaultProxy(folder / "through-proxy.conf")
    # Whoever is asked in plain HTTP is given no token: here it is put in.
    token = {"Authorization": f"Bearer {user.pop('token')}"} if "token" in user else {}
    upstream = {"upstream": cluster["server"], "context": context, "token": token}
    target = {"proxy": proxy, **upstream}
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), target))
    cluster["server"] = f"http://127.0.0.1:{server.server_port}"
    proxy.kubeconfig.write_text(yaml.safe_dump(config))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Watches go on for as long as their client lives.
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        """Nothing: clients that end, and connections that are cut off, are what this is for."""


class _Handler(BaseHTTPRequestHandler):
    """Passes requests on; a subclass says where to."""

    protocol_version = "HTTP/1.1"
    proxy: FaultProxy
    upstream: str
    context: ssl.SSLContext
    token: dict[str, str]

    def log_message(self, *_: Any) -> None:
        """Nothing: the test prints what it needs."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        address = urlsplit(self.path)
        request = f"{self.command} {address.path}"
        is_write = self.command in WRITES
        fault = self.proxy.fault if is_write and self.proxy.strikes(request) else None
        if fault is Fault.LOST:
            self.close_connection = True
            return
        if fault and fault.value in _ANSWERS:
            self._refuse(*_ANSWERS[fault.value])
            return
        with contextlib.closing(self._forward(body)) as response:
            if parse_qs(address.query).get("watch", [""])[0] in {"1", "true"}:
                self._stream(response)
                return
            answer = response.read()
        if is_write:
            self.proxy.writes.append(request)
            self.proxy.after_write(request)
        if fault is Fault.UNANSWERED:
            self.close_connection = True
        elif fault is Fault.RESET:
            self._reset(response, answer)
        else:
            if fault is Fault.TOO_LATE:
                self._await_hang_up()
            self._answer(response.status, response.headers.items(), answer)

    do_GET = do_PATCH = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - http.server's names

    def _forward(self, body: bytes) -> http.client.HTTPResponse:
        address = urlsplit(self.upstream)
        assert address.hostname is not None
        connection = http.client.HTTPSConnection(
            address.hostname, address.port, context=self.context
        )
        headers = {k: v for k, v in self.headers.items() if k.lower() not in _OWN}
        connection.request(self.command, self.path, body or None, headers | self.token)
        # The response holds the connection, which nobody uses again.
        return connection.getresponse()

    def _stream(self, response: http.client.HTTPResponse) -> None:
        """Pass a watch on, event by event, until either side ends it."""
        self.close_connection = True
        self._head(response.status, response.headers.items())
        self.send_header("Connection", "close")
        self.end_headers()
        with contextlib.suppress(OSError, http.client.HTTPException):
            while part := response.read1(65536):
                self.wfile.write(part)
                self.wfile.flush()

    def _refuse(self, code: int, reason: str, message: str) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
        body = json.dumps(status | {"reason": reason, "message": message})
        self._answer(code, [("Content-Type", "application/json")], body.encode())

    def _await_hang_up(self) -> None:
        """Wait until the client has lost patience."""
        select.select([self.connection], [], [], _PATIENCE)

    def _reset(self, response: http.client.HTTPResponse, answer: bytes) -> None:
        self._head(response.status, response.headers.items())
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer[: len(answer) // 2])
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        # Not an orderly end, which the server would give it.
        os.close(self.connection.detach())
        self.close_connection = True

    def _head(self, status: int, headers: Any) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in _OWN | {"date", "server"}:
                self.send_header(name, value)

    def _answer(self, status: int, headers: Any, body: bytes) -> None:
        with contextlib.suppress(OSError):  # a client that was killed reads no answer
            self._head(status, headers)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
