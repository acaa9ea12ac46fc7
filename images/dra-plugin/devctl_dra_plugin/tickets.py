"""Questions of the kubelet that are being answered, and which of them are overtaken."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Ticket = set[str]
"""The UIDs of the claims that may still be prepared for a question."""


class Tickets:
    """The questions to prepare claims that are open.

    A kubelet that was killed leaves its own behind. Its successor asks anew and may have the claim
    unprepared by the time the first one is answered: that must not hold the claim again.
    """

    def __init__(self) -> None:
        """None is open."""
        self._lock = threading.Lock()
        self._open: list[Ticket] = []

    @contextmanager
    def issue(self, uids: Iterable[str]) -> Iterator[Ticket]:
        """Open a question about claims until it is answered."""
        ticket = set(uids)
        with self._lock:
            self._open.append(ticket)
        try:
            yield ticket
        finally:
            with self._lock:
                self._open = [each for each in self._open if each is not ticket]

    def revoke(self, uid: str) -> None:
        """A claim is unprepared: no question that came before prepares it."""
        with self._lock:
            for each in self._open:
                each.discard(uid)
