"""A run's events, taken from the callback through which Ansible prints."""

from __future__ import annotations

import io
import json
import mmap
import os
import struct
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable


class Progress:
    """How far a run is, in memory that the run and the daemon share."""

    _SHAPE = struct.Struct("qq")

    def __init__(self) -> None:
        """Nothing has been posted yet."""
        self._memory = mmap.mmap(-1, self._SHAPE.size)

    @property
    def posted(self) -> int:
        """How many events."""
        return int(self._SHAPE.unpack(self._memory)[0])

    @property
    def finished(self) -> bool:
        """Whether the closing event is among them; only then does the operator know an outcome."""
        return bool(self._SHAPE.unpack(self._memory)[1])

    def add(self, event: str) -> int:
        """Count one event; returns its number."""
        finished = self.finished or event == "playbook_on_stats"
        self._memory[:] = self._SHAPE.pack(self.posted + 1, finished)
        return self.posted

    def reset(self) -> None:
        """Begin anew, for another run of the same process."""
        self._memory[:] = self._SHAPE.pack(0, False)  # noqa: FBT003 - its one form


class Recorder(io.TextIOBase):
    """Ansible's standard output: what is written between `begin` and `end` belongs to one event."""

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
        """Take text, of the event that is open or of none."""
        self._text += text
        while self._event is None and "\n" in self._text:
            line, _, self._text = self._text.partition("\n")
            created = datetime.now(UTC).isoformat()
            event = {"event": "verbose", "uuid": str(uuid4()), "created": created}
            self._send(event | {"pid": os.getpid(), "event_data": {}}, f"{line}\n")
        return len(text)

    def begin(self, event: dict[str, Any]) -> None:
        """The event that the text from here on belongs to."""
        self._event = event

    def end(self) -> None:
        """Post the event that is open."""
        event, text = self._event, self._text
        self._event, self._text = None, ""
        if event is not None:
            self._send(event, text)

    def _send(self, event: dict[str, Any], text: str) -> None:
        # The file first: the operator may read it as soon as it has the event.
        if text:
            self._file.write(text.rstrip("\r\n") + "\n")
            self._file.flush()
        lines = {"start_line": self._line, "end_line": self._line + text.count("\n")}
        self._line = lines["end_line"]
        counter = self._progress.add(event["event"])
        body = event | lines | {"counter": counter, "stdout": text.rstrip("\r\n")}
        self._post(json.dumps(body, cls=self._encoder))
