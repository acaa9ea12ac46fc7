"""Objects that a role answers: beside their status, when their role is to be run again.

ansible-operator runs a role for changes of the object itself. Where it watches a kind of children,
too, it takes the first status that a controller writes into each for a change, and runs the role
for nothing. So all else reaches it through an annotation. Its value is a digest of the cause, so
that it is written once for each, whoever looks and however often.
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
"""Seconds until what is not seen counts as lost: that the role is done, another watch tells."""

Cause = tuple[str, ...]
"""Why a role is to be run again: a word, and what tells it from every other time; or nothing."""


class Known(NamedTuple):
    """What this process knows of an object, beside what is stored."""

    lost: Sequence[str] = ()
    """What the role has made and is certainly not there."""
    gone: str = ""
    """The UID of what went last; empty where this process saw nothing go."""
    born: str = ""
    """Stands for what went before this process looked."""
    grew: str = ""
    """Stands for the last time that there was more room in the quotas of its namespace."""


T = TypeVar("T", bound=Item)


class RoleController(Controller[T]):
    """Handler of the work queue of a kind that a role answers."""

    def __init__(self, kind: Kind[T], store: Store[T], process: Process) -> None:
        """Know nothing yet."""
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
        """Have the role run again if there is a reason; returns the seconds until there may be.

        Args:
            key: What names the object.
            item: The object.
            lost: What the role makes and is not there.
            cause_of: Why its kind would have the role run again.
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
            log.info("%s/%s: its role is run again: %s", *key, cause[0])
        return GRACE if unsure else wait


def usual_cause(item: Item, known: Known) -> Cause:
    """Why a role is run again: what it made is lost, or what it waited for may be there."""
    if item.going:
        return ()
    if known.lost:
        generation = str(item.metadata.generation)
        return "lost", generation, *known.lost, known.gone or known.born
    if failure(item).get("reason") == Reason.QUOTA_EXCEEDED:
        return "room", known.grew
    return ("freed", known.gone) if known.gone and blocked(item) else ()


def soonest(*waits: float | None) -> float | None:
    """The shortest of several times; None stands for never."""
    return min((wait for wait in waits if wait is not None), default=None)
