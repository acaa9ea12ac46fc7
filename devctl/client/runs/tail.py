"""The last of what a rank has printed, for whoever asks why it has failed."""

from __future__ import annotations

import re

_KEPT = 32 * 1024
_LINES = 20
_WIDEST = 2000
_SIGNAL = 128
# What torchrun says of the process that failed; its own exit code is 1 whatever that was.
_TORCHRUN = re.compile(
    rb"Root Cause \(first observed failure\):\s+\[\d+\]:.{0,2000}?"
    rb"\n\s+exitcode\s*: (-?\d{1,3}) \(pid: \d+\)",
    re.DOTALL,
)


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

    def own_code(self, code: int) -> int:
        """The exit code of what was run, where torchrun has put its own in front of it."""
        found = _TORCHRUN.findall(self._data)
        if code != 1 or not found:
            return code
        own = int(found[-1])
        return _SIGNAL - own if own < 0 else own or code
