"""A run's events: taken from the callback through which Ansible prints, and posted."""

from __future__ import annotations

import http.client
import io
import json
import mmap
import os
import socket
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import IO, Any
from uuid import uuid4

POST_SECONDS = 30.0  # the operator itself gives up after 10


class Progress:
    """The progress of a run, in memory that the run and the daemon share."""

    def __init__(self) -> None:
        """Start without events."""
        # Two numbers of 8 bytes each.
        self._memory = memoryview(mmap.mmap(-1, 16)).cast("q")

    @property
    def posted(self) -> int:
        """The number of events."""
        return self._memory[0]

    @property
    def finished(self) -> bool:
        """Whether the closing event is among them: only then does the operator know the result."""
        return bool(self._memory[1])

    def add(self, event: str) -> int:
        """Count one event; returns its number."""
        self._memory[0] += 1
        self._memory[1] |= event == "playbook_on_stats"
        return self.posted

    def reset(self) -> None:
        """Reset for the next run of the same process."""
        self._memory[0] = self._memory[1] = 0


class Recorder(io.TextIOBase):
    """Ansible's standard output: everything between `begin` and `end` belongs to one event."""

    def __init__(
        self, file: IO[str], post: Callable[[str], None], progress: Progress, encoder: Any = None
    ) -> None:
        """Copies everything to `file`; `encoder` knows Ansible's own types."""
        self._file = file
        self._post = post
        self._progress = progress
        self._encoder = encoder
        self._event: dict[str, Any] | None = None
        self._text = ""
        self._line = 0

    def write(self, text: str, /) -> int:
        """Take text of the current event, or of none."""
        self._text += text
        while self._event is None and "\n" in self._text:
            line, _, self._text = self._text.partition("\n")
            created = datetime.now(UTC).isoformat()
            event = {"event": "verbose", "uuid": str(uuid4()), "created": created}
            self._send(event | {"pid": os.getpid(), "event_data": {}}, f"{line}\n")
        return len(text)

    def begin(self, event: dict[str, Any]) -> None:
        """Start an event, to which all text belongs from here on."""
        self._event = event

    def end(self) -> None:
        """Post the current event."""
        event, text = self._event, self._text
        self._event, self._text = None, ""
        if event is not None:
            self._send(event, text)

    def _send(self, event: dict[str, Any], text: str) -> None:
        # The file comes first, because the operator may read it once it has the event.
        if text:
            self._file.write(text.rstrip("\r\n") + "\n")
            self._file.flush()
        lines = {"start_line": self._line, "end_line": self._line + text.count("\n")}
        self._line = lines["end_line"]
        counter = self._progress.add(event["event"])
        body = event | lines | {"counter": counter, "stdout": text.rstrip("\r\n")}
        self._post(json.dumps(body, cls=self._encoder))


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
        """Connect lazily, with the first event."""
        self._connection = _Connection(path)
        self._url = url

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __call__(self, body: str) -> None:
        """Post an event and wait for the response; a failure can only be logged."""
        for attempt in (1, 2):
            try:
                headers = {"Content-Type": "application/json"}
                self._connection.request("POST", self._url, body.encode(), headers)
                reply = self._connection.getresponse()
                reply.read()
            except (OSError, http.client.HTTPException) as error:
                # The server may have closed an idle connection; a new one shows whether it is up.
                self._connection.close()
                if attempt == 2:  # noqa: PLR2004
                    print(f"devctl-runnerd: event lost: {error}", file=sys.__stderr__)
            else:
                if reply.status >= 300:  # noqa: PLR2004
                    print(f"devctl-runnerd: event refused: {reply.status}", file=sys.__stderr__)
                return
