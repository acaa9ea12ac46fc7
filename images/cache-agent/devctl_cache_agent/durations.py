"""How long each item took to be fetched as a whole, so that others can say what having it saves."""

from __future__ import annotations

import json
import logging
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

log = logging.getLogger(__name__)

FILE = "fetch-seconds.json"
MAX_KNOWN = 1024
"""Most items in the file; the one that was fetched first is forgotten first."""


class Durations:
    """Remembers them in a file, beside what was fetched, so that they outlive the agent.

    They are for people and for choosing nodes: what cannot be read or written is only not known.

    Args:
        file: Where they are kept.
        clock: The monotonic clock.
    """

    def __init__(self, file: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read what an earlier agent has measured."""
        self._file, self._clock = file, clock
        self._lock = threading.Lock()
        self._known = _read(file)

    def of(self, key: str) -> int | None:
        """The seconds that the last complete fetch took; None if this node has not seen one."""
        with self._lock:
            return self._known.get(key)

    @contextmanager
    def measured(self, key: str) -> Iterator[None]:
        """Measure a fetch, which counts if it succeeds.

        One that goes on where an earlier one was cut off takes less than it would have.
        """
        began = self._clock()
        yield
        self._note(key, max(0, round(self._clock() - began)))

    def _note(self, key: str, seconds: int) -> None:
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = seconds
            for oldest in list(self._known)[:-MAX_KNOWN]:
                del self._known[oldest]
            whole = self._file.with_name(f".{self._file.name}")
            try:
                whole.write_text(json.dumps(self._known))
                whole.replace(self._file)
            except OSError as error:
                log.warning("%s: %s", self._file, error)


def _read(file: Path) -> dict[str, int]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    known = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in known if type(value) is int and value >= 0}
