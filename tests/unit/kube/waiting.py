"""When a thread has come to the point at which it waits for the other side of a connection."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from devctl.kube.serial_tls import SerialTls


def waiting(connection: SerialTls, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set as soon as somebody waits for a connection to have something, or to take something."""
    wait, waits = connection._wait, threading.Event()  # noqa: SLF001

    def note(wanted: int, timeout: float | None) -> bool:
        waits.set()
        return wait(wanted, timeout)

    monkeypatch.setattr(connection, "_wait", note)
    return waits
