"""The command line, and a server on every interface that ends with the program."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vllm.answer import complete

try:
    from vllm._version import __version__
except ImportError:
    __version__ = "none: not built"

NAME = "stand-in for vLLM, not vLLM"
_LARGEST = 1 << 20
"""Bytes of a request."""


class Handler(BaseHTTPRequestHandler):
    """Answers to what clients of the protocol ask first."""

    model = ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Which models there are, which version this is, and that it is well."""
        models = {"object": "list", "data": [{"id": self.model, "object": "model"}]}
        answers = {"/v1/models": models, "/version": {"version": __version__}, "/health": {}}
        found = answers.get(self.path)
        self._answer(404 if found is None else 200, found or {})

    def do_POST(self) -> None:
        """Complete a prompt."""
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(min(length, _LARGEST))
        if self.path != "/v1/completions":
            self._answer(404, {})
            return
        try:
            prompt = str(json.loads(body)["prompt"])
        except (ValueError, KeyError, TypeError):
            self._answer(400, {"error": {"message": "send JSON with a prompt"}})
            return
        choice = {"index": 0, "text": complete(prompt), "finish_reason": "stop"}
        self._answer(200, {"object": "text_completion", "model": self.model, "choices": [choice]})

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        text = json.dumps(document | {"served_by": NAME}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def main(arguments: list[str]) -> int:
    """Serve until it is asked to end; options that mean nothing here are listed."""
    parser = argparse.ArgumentParser("vllm", description=NAME)
    commands = parser.add_subparsers(required=True)
    serve = commands.add_parser("serve", description=NAME)
    serve.add_argument("model")
    serve.add_argument("--host", default="")
    serve.add_argument("--port", type=int, default=8000)
    asked, others = parser.parse_known_args(arguments)
    _say(f"{NAME}: {asked.model}, version {__version__}")
    if others:
        _say(f"without meaning here: {' '.join(others)}")
    handler = type("Handler", (Handler,), {"model": asked.model})
    with ThreadingHTTPServer((asked.host, asked.port), handler) as server:
        # Not in the thread that serves, which would wait for itself.
        def end(*_: object) -> None:
            threading.Thread(target=server.shutdown).start()

        signal.signal(signal.SIGTERM, end)
        _say(f"serving at port {server.server_port}")
        server.serve_forever()
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
