"""An observer that is started again where it has lost its lease, as a kubelet does."""

from __future__ import annotations

from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from support.plane.parts import ObserverProcess

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PAUSE = 0.2
"""Seconds between two looks at it."""


class KeptObserver(ObserverProcess):
    """An observer that goes on after a loss of its lease.

    A slow disk or an API server that is away for ten seconds is enough for one. A crash is not
    made up for.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        """Start nothing yet."""
        super().__init__(*args, **more)
        self._lock, self._over = Lock(), Event()
        self._keeper: Thread | None = None
        self._is_kept = False
        self._losses = 0

    def start(self, leads: Callable[[], bool] | None = None) -> None:
        """Start it, and keep it from now on."""
        super().start(leads)
        self._losses = self.expected_ends
        self._is_kept = True
        if self._keeper is None:
            self._over.clear()
            self._keeper = Thread(target=self._keep, daemon=True)
            self._keeper.start()

    def kill(self) -> None:
        """Kill it for good."""
        self._leave()
        super().kill()
        self._dismiss()

    def stop(self) -> None:
        """End it in order, and for good."""
        self._leave()
        super().stop()
        self._dismiss()

    def _leave(self) -> None:
        with self._lock:
            self._is_kept = False

    def _dismiss(self) -> None:
        """End the thread, with which everything ends that it has started."""
        if self._keeper is not None:
            self._over.set()
            self._keeper.join()
            self._keeper = None

    def _keep(self) -> None:
        while not self._over.wait(_PAUSE):
            with self._lock:
                if self._is_kept and not self.is_running:
                    losses = self.expected_ends
                    self._is_kept = losses > self._losses
                    self._losses = losses
                    if self._is_kept:
                        self.begin()
