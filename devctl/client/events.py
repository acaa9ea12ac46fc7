"""Events of a namespace, and of a server in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from devctl.api.devserver import home_names
from devctl.client.manifests import check_name
from devctl.client.objects import Collection, Field, Named, mapping, moment, number, text
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError
from devctl.kube import resources
from devctl.kube.cluster import WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime


_OWN = {"DevServer", "StatefulSet", "Service"}
"""Kinds of objects that have their server's name."""
_SHORT = {"PersistentVolumeClaim": "volume"}
"""Short names of kinds."""


@dataclass(frozen=True)
class Event(Named):
    """Something that has happened, once or several times."""

    reason = Field(text, "reason")
    """What happened, in one word."""
    message = Field(lambda value: text(value).strip(), "message")
    type = Field(lambda value: text(value) or "Normal", "type")
    """`Normal` or `Warning`."""
    object = Field(mapping, "involvedObject")
    """The reference to the object it is about."""
    version = Field(text, "metadata", "resourceVersion")
    """Changes whenever it happens again."""
    _series = Field(mapping, "series")

    @property
    def at(self) -> datetime:
        """When it happened last."""
        found = (
            self._series.get("lastObservedTime")
            or self.raw.get("lastTimestamp")
            or self.raw.get("eventTime")
            or self.raw.get("firstTimestamp")
        )
        return moment(found) or self.created_at

    @property
    def about(self) -> str:
        """The object it is about, such as `pod/lab-0`."""
        kind = str(self.object.get("kind", ""))
        return f"{_SHORT.get(kind, kind.lower())}/{self.object.get('name', '')}"

    @property
    def count(self) -> int:
        """How often it has happened."""
        return number(self._series.get("count") or self.raw.get("count")) or 1

    def is_about(self, server: str) -> bool:
        """Whether it is about a server, its pods or its homes."""
        kind, name = self.object.get("kind", ""), str(self.object.get("name", ""))
        if kind in _OWN:
            return name == server
        base, _, ordinal = name.rpartition("-")
        if not ordinal.isdecimal():
            return False
        if kind == "PersistentVolumeClaim":
            return name in home_names(server, int(ordinal[:6]) + 1)[-1:]
        return bool(kind == "Pod" and base == server)


class Events(Collection):
    """The events of a namespace."""

    def list(self, server: str | None = None, namespace: str | None = None) -> Sequence[Event]:
        """All events, or those about a server, oldest first; clusters keep them for about an hour.

        `namespace` may be devctl.kube.cluster.EVERYWHERE.
        """
        if server is not None:
            check_name(server)
        found = map(Event, self._cluster.list(resources.Event, namespace))
        wanted = (event for event in found if server is None or event.is_about(server))
        return sorted(wanted, key=lambda event: event.at)

    def watch(self, server: str | None = None, namespace: str | None = None) -> Iterator[Event]:
        """The same, followed by new events as they happen; never ends by itself."""
        told: dict[str, str] = {}
        for event in self.list(server, namespace):
            told[event.uid] = event.version
            yield event
        while True:
            try:
                for change in self._cluster.watch(resources.Event, namespace, seconds=WINDOW):
                    event = Event(change.object)
                    if change.type == "DELETED":
                        told.pop(event.uid, None)
                    # Each watch starts with all events that exist.
                    elif told.get(event.uid) != event.version and (
                        server is None or event.is_about(server)
                    ):
                        told[event.uid] = event.version
                        yield event
            except (DeniedError, NotFoundError, UsageError):
                raise
            except DevctlError:
                # The next watch reports what was missed; Cluster.watch itself waits before it.
                continue
