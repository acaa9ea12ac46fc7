"""Pods with hooks that end, until a status says how their hooks ended.

Why a pod ends is known best when it begins to: by the time its hooks have ended, the server may
have been started again. And a pod that has ended may be gone before anybody looks at its server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from lightkube.models.core_v1 import Pod

from devctl_observer.judging.model import Meta, meta_of
from devctl_observer.kinds.servers.hook_outcomes import Ended, ended, hooks_of, is_ending
from devctl_observer.watching.store import Key

_MAX_DELETED = 512
"""Deleted servers that are remembered for the hooks of their last pods."""


class Cause(NamedTuple):
    """Whose pod ends, and why."""

    server: Meta
    event: str


class Told(NamedTuple):
    """How the hooks of a pod ended, and whose they are."""

    server: Meta
    ended: Ended


class EndedPods:
    """What this process has seen of such pods."""

    def __init__(self) -> None:
        """Start empty."""
        self._causes: dict[str, Cause] = {}
        self._told: dict[Key, dict[str, Told]] = {}
        self._deleted: dict[Key, Cause] = {}

    def see(self, key: Key, pod: Pod, cause: Callable[[], Cause | None]) -> None:
        """Take in a pod of a server.

        Args:
            key: The server's.
            pod: The pod as it is, or as it was before it was gone.
            cause: Whose it is and why it ends; asked when it begins to.
        """
        if not hooks_of(pod) or not is_ending(pod):
            return
        uid = meta_of(pod.metadata).uid
        if uid not in self._causes and (found := cause()):
            self._causes[uid] = found
        known = self._causes.get(uid)
        if known and (end := ended(pod, known.event)):
            self._told.setdefault(key, {})[uid] = Told(known.server, end)

    def gone(self, pod: Pod) -> None:
        """Forget why a pod ended that does not exist any more."""
        self._causes.pop(meta_of(pod.metadata).uid, None)

    def of(self, key: Key) -> list[Told]:
        """What no status has yet, of all servers that have had this key."""
        return list(self._told.get(key, {}).values())

    def drop(self, key: Key, told: Iterable[Told]) -> None:
        """Forget what a status or an Event has now."""
        done = list(told)
        left = {uid: one for uid, one in self._told.get(key, {}).items() if one not in done}
        if left:
            self._told[key] = left
        else:
            self._told.pop(key, None)

    def delete(self, key: Key, cause: Cause) -> None:
        """Remember a deleted server, whose pods are about to end."""
        self._deleted.pop(key, None)
        self._deleted[key] = cause
        while len(self._deleted) > _MAX_DELETED:
            del self._deleted[next(iter(self._deleted))]

    def deleted(self, key: Key) -> Cause | None:
        """The last deleted server of a key."""
        return self._deleted.get(key)
