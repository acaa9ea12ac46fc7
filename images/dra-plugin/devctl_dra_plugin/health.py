"""The devices' health, as the kubelet follows it and shows it in the status of pods."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from devctl_dra_plugin.messages import DeviceHealth, Health

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from devctl_dra_plugin.devices import Device

_TIMEOUT = 120
"""Seconds for which a report counts: the plugin may start again in between."""
_LOOK_UP = 2.0
"""Seconds until a watcher who has gone is noticed."""


def reports(node: str, devices: Iterable[Device], now: float) -> tuple[DeviceHealth, ...]:
    """What the kubelet is told about all devices."""
    return tuple(
        DeviceHealth(
            pool=node,
            device=each.name,
            health=Health.UNHEALTHY if each.problem else Health.HEALTHY,
            updated=int(now),
            timeout=_TIMEOUT,
            message=each.problem,
        )
        for each in devices
    )


class Board:
    """The newest reports, which any number of watchers follow."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._changed = threading.Condition()
        self._reports: tuple[DeviceHealth, ...] = ()
        self._version = 0
        self._closed = False

    def show(self, found: tuple[DeviceHealth, ...]) -> None:
        """Tell every watcher, also what has not changed: a report counts for a while only."""
        with self._changed:
            self._reports, self._version = found, self._version + 1
            self._changed.notify_all()

    def close(self) -> None:
        """Let all watchers go."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def watch(self, is_watched: Callable[[], bool]) -> Iterator[tuple[DeviceHealth, ...]]:
        """The newest reports, again and again, until nobody watches."""
        seen = 0
        while True:
            with self._changed:
                while self._version == seen and not self._closed and is_watched():
                    self._changed.wait(_LOOK_UP)
                if self._closed or not is_watched():
                    return
                seen, found = self._version, self._reports
            yield found
