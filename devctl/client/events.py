"""Events: what has happened, as the cluster tells it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from devctl.api.devserver import home_names
from devctl.client.manifest import check_name
from devctl.client.named import Named, moment, number
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError
from devctl.kube import resources
from devctl.kube.cluster import WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from devctl.kube.cluster import Cluster

_FIRST, _LONGEST = 0.5, 30.0
"""Seconds between two watches: at least, and at most where each ends at once."""
_OWN = {"DevServer", "StatefulSet", "Service"}
"""Kinds of what is called as its server is."""
_SHORT = {"PersistentVolumeClaim": "volume"}
"""Kinds whose names are too long for a line."""


@dataclass(frozen=True)
class Event(Named):
    """Something that has happened, once or several times."""

    @property
    def at(self) -> datetime:
        """When, the last time."""
        series = self.raw.get("series") or {}
        found = (
            series.get("lastObservedTime")
            or self.raw.get("lastTimestamp")
            or self.raw.get("eventTime")
            or self.raw.get("firstTimestamp")
        )
        return moment(found) or self.created_at

    @property
    def reason(self) -> str:
        """What, in one word."""
        return str(self.raw.get("reason") or "")

    @property
    def message(self) -> str:
        """What, in more words."""
        return str(self.raw.get("message") or "").strip()

    @property
    def type(self) -> str:
        """`Normal` or `Warning`."""
        return str(self.raw.get("type") or "Normal")

    @property
    def about(self) -> str:
        """To what, such as `pod/lab-0`."""
        kind = str(self.object.get("kind", ""))
        return f"{_SHORT.get(kind, kind.lower())}/{self.object.get('name', '')}"

    @property
    def count(self) -> int:
        """How often."""
        series = self.raw.get("series") or {}
        return number(series.get("count") or self.raw.get("count")) or 1

    def is_about(self, server: str) -> bool:
        """Whether it concerns a server: itself, its pods or its homes."""
        kind, name = self.object.get("kind", ""), str(self.object.get("name", ""))
        if kind in _OWN:
            return name == server
        base, _, ordinal = name.rpartition("-")
        if not ordinal.isdecimal():
            return False
        if kind == "PersistentVolumeClaim":
            return name in home_names(server, int(ordinal[:6]) + 1)[-1:]
        return bool(kind == "Pod" and base == server)

    @property
    def object(self) -> dict[str, Any]:
        """What it is about, as it names it."""
        found: dict[str, Any] = self.raw.get("involvedObject") or {}
        return found


class Events:
    """What has happened in a namespace.

    for event in client.events.list("lab"):
        print(event.at, event.about, event.message)
    """

    def __init__(self, cluster: Cluster) -> None:
        """Ask nothing yet."""
        self._cluster = cluster

    def list(self, server: str | None = None, namespace: str | None = None) -> Sequence[Event]:
        """What has happened, the oldest first; the cluster forgets it after about an hour.

        Args:
            server: Only what concerns this server: itself, its pods and its homes.
            namespace: Else the user's; or devctl.kube.cluster.EVERYWHERE.
        """
        if server is not None:
            check_name(server)
        found = map(Event, self._cluster.list(resources.Event, namespace))
        wanted = (event for event in found if server is None or event.is_about(server))
        return sorted(wanted, key=lambda event: event.at)

    def watch(self, server: str | None = None, namespace: str | None = None) -> Iterator[Event]:
        """What has happened, the oldest first, and then what happens; never ends by itself."""
        told: dict[str, str] = {}
        first = self.list(server, namespace)
        for event in first:
            told[event.uid] = _version(event)
            yield event
        pause = _FIRST
        while True:
            begun = time.monotonic()
            try:
                for change in self._cluster.watch(resources.Event, namespace, seconds=WINDOW):
                    event = Event(change.object)
                    if change.type == "DELETED":
                        told.pop(event.uid, None)
                    # A watch that is renewed begins with what is there.
                    elif told.get(event.uid) != _version(event) and (
                        server is None or event.is_about(server)
                    ):
                        told[event.uid] = _version(event)
                        yield event
            except (DeniedError, NotFoundError, UsageError):
                raise
            except DevctlError:
                # The API server stumbles, or the network: what is missed comes with the next watch.
                pass
            pause = _FIRST if time.monotonic() - begun > _LONGEST else min(2 * pause, _LONGEST)
            time.sleep(pause)


def _version(event: Event) -> str:
    return str(event.raw["metadata"].get("resourceVersion", ""))
