"""Programs whose output nobody takes for a while: when all that is on its way stands still."""

from __future__ import annotations

import fcntl
import sys
import termios
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def unread(pipe: int) -> int:
    """How many bytes are in a pipe. A full one may have room for some more, but not for a write."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def stands_still(look: Callable[[], object]) -> Callable[[], bool]:
    """Whether there is something, and it is as it was when this was asked last."""
    last: object = None

    def so() -> bool:
        nonlocal last
        last, before = look(), last
        return bool(last) and last == before

    return so
