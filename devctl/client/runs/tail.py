"""The last of what a rank has printed, for whoever asks why it has failed."""

from __future__ import annotations

_KEPT = 32 * 1024
_LINES = 20
_WIDEST = 2000


class Tail:
    """The last bytes of a stream."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._data = b""

    def add(self, data: bytes) -> None:
        """Take what comes next."""
        self._data = (self._data + data)[-_KEPT:]

    def lines(self) -> list[bytes]:
        """The last lines, as far as they are known."""
        return [line[-_WIDEST:] for line in self._data.splitlines()[-_LINES:]]
