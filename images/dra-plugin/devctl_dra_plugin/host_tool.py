"""The agreement with the host's tool canhazgpu: whose each GPU of the node is."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from devctl_dra_plugin import reservations
from devctl_dra_plugin.planning import ClaimError
from devctl_dra_plugin.redis_server import BusyError, RedisError
from devctl_dra_plugin.reservations import View

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from devctl_dra_plugin.agreement import Held
    from devctl_dra_plugin.devices import Device
    from devctl_dra_plugin.planning import Preparation
    from devctl_dra_plugin.redis_server import Redis
    from devctl_dra_plugin.reservations import Change, Found

log = logging.getLogger(__name__)

_WAITS = (0.1, 0.3, 0.6, 1.0)
"""Seconds after each of which the tool's lock is looked at again: it is held for milliseconds."""
_PATIENCE = 2
"""Looks without an answer until no new claim is drawn here: Redis may only be starting again."""


class HostTool:
    """The agreement with canhazgpu.

    Args:
        server: The Redis that both use.
        clock: Seconds since 1970.
        sleep: Waits for so many seconds.
    """

    def __init__(
        self,
        server: Redis,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Ask nothing yet."""
        self._server, self._clock, self._sleep = server, clock, sleep
        # From the reservation of a claim until it is in the record, or a look would release it.
        self._lock = threading.Lock()
        self._view = View(problem="nobody has asked yet")
        self._failures = 0
        self._lost: tuple[str, ...] = ()

    @contextmanager
    def reserving(self, claim: Preparation) -> Iterator[None]:
        """Reserve a claim's GPUs; the plugin's record is written within.

        Raises:
            ClaimError: Somebody on the host has one, or nobody knows.
        """
        with self._lock:
            try:
                self._reserve(claim)
            except RedisError as error:
                what = "whether the host has reserved its GPUs is unknown"
                raise ClaimError(f"{what}: {error}") from error
            yield

    def give_back(self, claim: Preparation) -> None:
        """Release a claim's GPUs, now or at one of the next looks."""
        with self._lock:
            now = self._clock()
            try:
                decide = partial(reservations.given_back, claim, now=now)
                self._server.change(reservations.indexes(claim), now, decide)
            except RedisError as error:
                log.warning("the GPUs of claim %s are released later: %s", claim, error)

    def look(self, devices: Collection[Device], held: Callable[[], Held]) -> View:
        """Show that the claims still hold their GPUs, and see who else has some."""
        with self._lock:
            try:
                self._view = self._settle(devices, held())
                if self._failures:
                    log.info("Redis answers again")
                self._failures = 0
            except BusyError as error:
                log.info("%s", error)
            except RedisError as error:
                self._failures += 1
                if self._failures == 1:
                    log.warning("%s", error)
                if self._failures >= _PATIENCE or self._view.problem:
                    self._view = View(self._view.users, str(error))
            return self._view

    def _reserve(self, claim: Preparation) -> None:
        if not (wanted := reservations.indexes(claim)):
            return
        for wait in (*_WAITS, 0.0):
            now = self._clock()
            try:
                self._server.change(wanted, now, partial(reservations.taken, claim, now=now))
            except BusyError:
                if not wait:
                    raise
                self._sleep(wait)
            else:
                return

    def _settle(self, devices: Collection[Device], held: Held) -> View:
        now = self._clock()
        if devices:
            highest = max(each.index for each in devices)
            made_up = all(each.made_up for each in devices)
            self._server.set_up(highest + 1, "fake" if made_up else "nvidia")
        users: dict[int, str] = {}

        def decide(found: Found) -> Change:
            users.clear()
            users.update(reservations.reserved(found, now))
            return reservations.settled(held.claims, found, now, is_all=held.is_all)

        indexes = {each.index for each in devices}
        indexes.update(index for claim in held.claims for index in reservations.indexes(claim))
        change = self._server.change(sorted(indexes), now, decide)
        self._report(tuple(str(each) for each in change.lost))
        return View(users)

    def _report(self, lost: tuple[str, ...]) -> None:
        if lost != self._lost:
            for each in lost:
                log.error("%s while a claim holds it: two may use it", each)
        self._lost = lost
