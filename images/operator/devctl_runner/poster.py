"""How an event reaches the operator: one POST to the run's Unix socket, its reply awaited."""

from __future__ import annotations

import http.client
import socket
import sys

POST_SECONDS = 30.0  # the operator itself gives up after 10


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=POST_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Poster:
    """Posts to one run's event socket, over one connection for the whole run."""

    def __init__(self, path: str, url: str) -> None:
        """Connects at the first event."""
        self._connection = _Connection(path)
        self._url = url

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def __call__(self, body: str) -> None:
        """Post one event and await the reply; a failure is logged, as nobody else can be told."""
        for attempt in (1, 2):
            try:
                headers = {"Content-Type": "application/json"}
                self._connection.request("POST", self._url, body.encode(), headers)
                reply = self._connection.getresponse()
                reply.read()
            except (OSError, http.client.HTTPException) as error:
                # The server may close an idle connection; a new one shows whether it is there.
                self._connection.close()
                if attempt == 2:  # noqa: PLR2004
                    print(f"devctl-runnerd: an event was lost: {error}", file=sys.__stderr__)
            else:
                if reply.status >= 300:  # noqa: PLR2004
                    print(f"devctl-runnerd: an event got {reply.status}", file=sys.__stderr__)
                return
