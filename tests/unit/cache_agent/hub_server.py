"""A model store that speaks the hub's protocol, and can be made to misbehave."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

COMMIT = "c" * 40
REPO = "facebook/opt-125m"


class Quiet(ThreadingHTTPServer):
    """A server whose clients may leave."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass


class HubServer:
    """Serves the files of one model.

    Attributes:
        files: Their contents; those of more than 100 bytes are large, and have a SHA-256.
        cut: How many bytes of a file are sent before the connection ends, by its path.
        asked: What was asked for: path, Range and Authorization.
        send_on: Where files are instead, if anywhere.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"config.json": b"{}", "model.bin": bytes(range(256)) * 40}
        self.commit = COMMIT
        self.cut: dict[str, int] = {}
        self.wrong: dict[str, bytes] = {}
        self.asked: list[tuple[str, str | None, str | None]] = []
        self.send_on = ""
        self.ranges = True
        self.code = 200
        self.listed: Any = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def info(self) -> Any:
        if self.listed is not None:
            return self.listed
        return {"sha": self.commit, "siblings": [sibling(*each) for each in self.files.items()]}

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        start = asked.headers["Range"]
        self.asked.append((asked.path, start, asked.headers["Authorization"]))
        if self.code != 200:
            send(asked, self.code, b"secret details")
        elif asked.path.startswith("/api/"):
            send(asked, 200, json.dumps(self.info()).encode())
        elif self.send_on and not asked.path.startswith("/cdn"):
            send(asked, 302, b"", Location=self.send_on)
        else:
            self.send_file(asked, unquote(asked.path).rpartition(f"{self.commit}/")[2], start)

    def send_file(self, asked: BaseHTTPRequestHandler, name: str, start: str | None) -> None:
        data = self.wrong.get(name, self.files.get(name, self.files["model.bin"]))
        first = int(start.removeprefix("bytes=").rstrip("-")) if start and self.ranges else 0
        code = 206 if first else 200
        cut = self.cut.get(name)
        body = data[first:] if cut is None else data[first:cut]
        asked.send_response(code)
        asked.send_header("Content-Length", str(len(data) - first))
        if first:
            asked.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        asked.end_headers()
        asked.wfile.write(body)
        asked.close_connection = True


def sibling(name: str, data: bytes) -> dict[str, Any]:
    """How the hub lists a file."""
    if len(data) > 100:
        large = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return {"rfilename": name, "size": len(data), "blobId": "0" * 40, "lfs": large}
    blob = hashlib.sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()
    return {"rfilename": name, "size": len(data), "blobId": blob}


def send(asked: BaseHTTPRequestHandler, code: int, data: bytes, **headers: str) -> None:
    asked.send_response(code)
    asked.send_header("Content-Length", str(len(data)))
    for name, value in headers.items():
        asked.send_header(name, value)
    asked.end_headers()
    asked.wfile.write(data)
