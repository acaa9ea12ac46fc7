"""Whether the pod of a session is still there, and if not, what became of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from devctl.client.streams.pods import fate
from devctl.errors import DeniedError, DevctlError, NotFoundError
from devctl.kube import resources
from devctl.kube.cluster import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from devctl.kube.cluster import Cluster, Object

_RETRY = 2.0
"""Seconds after which an API server that stumbles is asked again."""
_POLL = 0.25
_PATIENCE = 3.0
"""Seconds that the kubelet may take to say what it has seen."""


class PodLife:
    """One pod, from the moment at which a session in it begins."""

    def __init__(self, cluster: Cluster, pod: Object) -> None:
        """Take what it is now as what it is to stay."""
        self._cluster = cluster
        self._before = pod
        self._name: str = pod["metadata"]["name"]
        self._namespace: str = pod["metadata"]["namespace"]

    def watch(self, going: Callable[[], object]) -> DevctlError | None:
        """Wait until the session's container is no more.

        Args:
            going: Told once that the pod is being stopped, and still there.

        Returns:
            What became of it; None where the user may not watch it.
        """
        told = False
        while True:
            try:
                # A watch of a pod that has gone meanwhile would say nothing at all.
                now = self._now()
                if found := self.fate(now):
                    return found
                for change in self._changes():
                    if found := self.fate(change):
                        return found
                    if change and _leaves(change) and not told:
                        told = True
                        going()
            except DeniedError:
                return None
            except DevctlError:
                # The session may well go on: it has a connection of its own.
                time.sleep(_RETRY)

    def verdict(self, *, killed: bool) -> DevctlError | None:
        """What became of the pod now that a session in it has ended; None where it is well.

        Args:
            killed: Whether the session ended as if somebody had ended it.
        """
        until = time.monotonic() + (_PATIENCE if killed else 0)
        while True:
            try:
                now = self._now()
            except DevctlError:
                return None
            if found := self.fate(now) or self._leaving(now):
                return found
            if time.monotonic() >= until:
                return None
            time.sleep(_POLL)

    def fate(self, now: Object | None) -> DevctlError | None:
        """What became of the pod as it was, if anything."""
        server = self._name.rpartition("-")[0]
        why = fate(self._before, now)
        if not why:
            return None
        return DevctlError(
            f"the session has ended: {why}",
            f"see `devctl describe {server}`; when it runs, `devctl ssh {server}` connects again",
        )

    def _leaving(self, now: Object | None) -> DevctlError | None:
        if now is None or not _leaves(now):
            return None
        server = self._name.rpartition("-")[0]
        return DevctlError(
            f"the session has ended: pod `{self._name}` is being stopped",
            f"see `devctl status {server}`; its files are kept",
        )

    def _now(self) -> Object | None:
        try:
            return self._cluster.get(resources.Pod, self._name, self._namespace)
        except NotFoundError:
            return None

    def _changes(self) -> Iterator[Object | None]:
        for change in self._cluster.watch(
            resources.Pod, self._namespace, name=self._name, seconds=WINDOW
        ):
            yield None if change.type == "DELETED" else change.object


def _leaves(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]
