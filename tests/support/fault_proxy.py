"""A proxy before the API server that loses, refuses and cuts off writes, as networks do."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import ssl
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

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


class Fault(StrEnum):
    """What happens to a write."""

    CONFLICT = "409"
    THROTTLED = "429"
    BROKEN = "500"
    LOST = "the connection ends before the write"
    UNANSWERED = "the connection ends after the write"
    TOO_LATE = "the answer comes after the client's patience"


@dataclass
class FaultProxy:
    """What is to go wrong, and what was asked.

    Attributes:
        fault: What happens to each write's first attempt.
        after_write: Called with the number of the write that was just made, before it is answered.
    """

    fault: Fault | None = None
    after_write: Callable[[int], None] = lambda _: None
    writes: list[str] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)
    kubeconfig: str = ""

    def strikes(self, request: str) -> bool:
        """Whether this attempt is one to fail."""
        self.attempts[request] += 1
        return self.fault is not None and self.attempts[request] == 1


@contextmanager
def fault_proxy(kubeconfig: Path, folder: Path) -> Iterator[FaultProxy]:
    """A proxy for the cluster of a kubeconfig; its own kubeconfig is in `folder`."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    files = {}
    for name, text in [
        ("ca", cluster["certificate-authority-data"]),
        ("cert", user["client-certificate-data"]),
        ("key", user["client-key-data"]),
    ]:
        files[name] = folder / f"{name}.pem"
        files[name].write_bytes(base64.b64decode(text))
    context = ssl.create_default_context(cafile=files["ca"])
    context.load_cert_chain(files["cert"], files["key"])
    proxy = FaultProxy()
    target = {"proxy": proxy, "upstream": cluster["server"], "context": context}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), target))
    cluster["server"] = f"http://127.0.0.1:{server.server_port}"
    del cluster["certificate-authority-data"]
    config["users"][0]["user"] = {}
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    proxy.kubeconfig = str(path)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Passes requests on; a subclass says where to."""

    protocol_version = "HTTP/1.1"
    proxy: FaultProxy
    upstream: str
    context: ssl.SSLContext

    def log_message(self, *_: Any) -> None:
        """Nothing: the test prints what it needs."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        request = f"{self.command} {urlsplit(self.path).path}"
        is_write = self.command in WRITES
        fault = self.proxy.fault if is_write and self.proxy.strikes(request) else None
        if fault is Fault.LOST:
            self.close_connection = True
            return
        if fault and fault.value in _ANSWERS:
            self._refuse(*_ANSWERS[fault.value])
            return
        status, headers, answer = self._forward(body)
        if is_write:
            self.proxy.writes.append(request)
            self.proxy.after_write(len(self.proxy.writes))
        if fault is Fault.UNANSWERED:
            self.close_connection = True
            return
        if fault is Fault.TOO_LATE:
            time.sleep(11)
        self._answer(status, headers, answer)

    do_GET = do_PATCH = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - http.server's names

    def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        address = urlsplit(self.upstream)
        assert address.hostname is not None
        connection = http.client.HTTPSConnection(
            address.hostname, address.port, context=self.context
        )
        headers = {k: v for k, v in self.headers.items() if k.lower() != "host"}
        connection.request(self.command, self.path, body or None, headers)
        response = connection.getresponse()
        content = response.read()
        kind = {"Content-Type": response.headers.get("Content-Type", "application/json")}
        connection.close()
        return response.status, kind, content

    def _refuse(self, code: int, reason: str, message: str) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
        body = json.dumps(status | {"reason": reason, "message": message})
        self._answer(code, {"Content-Type": "application/json"}, body.encode())

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        # As the operator's proxy says it; the role would wait for its cache otherwise.
        self.send_header("X-Cache", "HIT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):  # a client that was killed reads no answer
            self.wfile.write(body)
