"""Objects that a role handles: their status, and when to trigger their role again.

ansible-operator runs a role for changes of the object itself. If it also watched children, the
first status that a controller writes into each would trigger a needless run. Everything else
therefore triggers the role through an annotation. Its value is a digest of the cause, so that each
cause is written once, whichever process sees it and however often.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar
from uuid import uuid4

from devctl.api.applied import Reason
from devctl_observer.control.controller import Controller
from devctl_observer.control.figures import WAKES
from devctl_observer.control.kind import Kind
from devctl_observer.control.process import Process
from devctl_observer.control.retries import Since, attempts, blocked
from devctl_observer.judging.conditions import failure, is_settled
from devctl_observer.judging.model import Item
from devctl_observer.watching.store import Key, Store

log = logging.getLogger(__name__)

GRACE = 3.0
"""Seconds until an unseen child counts as lost: its watch may lag behind the one of `Applied`."""

Cause = tuple[str, ...]
"""Why to trigger a role: a word, and what makes this occasion unique; empty for no reason."""


class Known(NamedTuple):
    """What this process knows about an object beyond its stored state."""

    lost: Sequence[str] = ()
    """Children that the role created and that are certainly missing."""
    gone: str = ""
    """The UID of the last deleted child; empty if this process has seen no deletion."""
    born: str = ""
    """Identifies this process, for deletions before its start."""
    grew: str = ""
    """Identifies the last time that a quota of its namespace had more room."""


T = TypeVar("T", bound=Item)


class RoleController(Controller[T]):
    """Handles the work queue of a kind that has a role."""

    def __init__(self, kind: Kind[T], store: Store[T], process: Process) -> None:
        """Start without any state."""
        super().__init__(kind, store, process)
        WAKES.labels(kind=self.word)
        self._children = process.children
        self._since = Since(process.clock.steady)
        self._born = uuid4().hex

    def _forget(self, key: Key) -> None:
        super()._forget(key)
        self._since.forget(key)

    async def _wake_if(
        self, key: Key, item: T, lost: Sequence[str], cause_of: Callable[[Known], Cause]
    ) -> float | None:
        """Trigger the role if there is a reason; returns the seconds until the next check.

        Args:
            key: The object's key.
            item: The object.
            lost: Children that the role creates and that are missing.
            cause_of: The kind's reason to trigger the role.
        """
        lost = lost if is_settled(item) else ()
        obstacle = "" if lost else blocked(item)
        waited = self._since.seconds(key, "lost" if lost else obstacle)
        unsure = bool(lost) and waited < GRACE
        known = Known(
            () if unsure else lost,
            self.gone.get(key, ""),
            self._born,
            self._children.grew(key.namespace),
        )
        tried, wait = attempts(waited) if obstacle else (0, None)
        cause = cause_of(known) + (("again", self._born, str(tried)) if tried else ())
        value = hashlib.sha256("\n".join((item.metadata.uid, *cause)).encode()).hexdigest()[:16]
        if cause and value != item.wake:
            self._keep(key, await self._api.wake(self.kind, item.metadata, value))
            WAKES.labels(kind=self.word).inc()
            log.info("%s/%s: running its role again: %s", *key, cause[0])
        return GRACE if unsure else wait


def usual_cause(item: Item, known: Known) -> Cause:
    """The usual reasons: a child is lost, or what the role waits for may be available."""
    if item.going:
        return ()
    if known.lost:
        generation = str(item.metadata.generation)
        return "lost", generation, *known.lost, known.gone or known.born
    if failure(item).get("reason") == Reason.QUOTA_EXCEEDED:
        return "room", known.grew
    return ("freed", known.gone) if known.gone and blocked(item) else ()


def soonest(*waits: float | None) -> float | None:
    """The shortest of several waits; None means never."""
    return min((wait for wait in waits if wait is not None), default=None)
