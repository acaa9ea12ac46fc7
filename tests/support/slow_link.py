"""A link on which bytes are slow and packets get lost, for kernels without netem.

TCP makes of a lost packet a pause, and of a lost first one a connection that nobody answers.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_DELAY, _RETRANSMISSION, _LOSS = 0.05, 0.4, 0.05
"""Seconds for each way, seconds for a packet that was lost, and the share of those."""
_PIECE = 16 * 1024


class SlowLink:
    """A port that leads to another one, slowly.

    Attributes:
        port: On the loopback address.
        lost: How many of the next connections nobody answers.
        connections: How many there were.
    """

    def __init__(self, host: str, port: int) -> None:
        """Listen."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._far = (host, port)
        self._chance = random.Random(1)  # noqa: S311 - the same each time
        self._open: list[socket.socket] = []
        self.port = self._listener.getsockname()[1]
        self.lost = self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Hang up."""
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._open.append(near)
                self.connections += 1
                if self.lost:
                    self.lost -= 1
                    continue
                far = socket.create_connection(self._far)
                self._open.append(far)
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_PIECE):
                late = self._chance.random() < _LOSS
                time.sleep(_DELAY + (_RETRANSMISSION if late else 0))
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@contextmanager
def slow_link(host: str, port: int) -> Iterator[SlowLink]:
    """A slow way to a port."""
    link = SlowLink(host, port)
    try:
        yield link
    finally:
        link.close()
