"""The plugin's loop: look at the GPUs, and tell the kubelet and the API server."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from devctl_dra_plugin import health
from devctl_dra_plugin.agreement import NoAgreement
from devctl_dra_plugin.api import ApiError
from devctl_dra_plugin.publisher import publish, read_node

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from devctl_dra_plugin.agreement import Agreement
    from devctl_dra_plugin.api import Api
    from devctl_dra_plugin.claims import Claims
    from devctl_dra_plugin.devices import Device
    from devctl_dra_plugin.health import Board
    from devctl_dra_plugin.inventory import Inventory
    from devctl_dra_plugin.reservations import View

log = logging.getLogger(__name__)

INTERVAL = 10.0
"""Seconds between two looks."""
_MAX_PAUSE = 60.0


class Plugin:
    """What is done again and again, whatever fails.

    Args:
        node: The node's name.
        api: The API server.
        inventory: Its GPUs.
        claims: What it holds.
        board: The devices' health.
        clock: Seconds since 1970.
        agreement: With others who hand out the same GPUs.
        random: Numbers from 0 to 1: plugins of many nodes are not to ask at once.
    """

    def __init__(  # noqa: PLR0913
        self,
        node: str,
        *,
        api: Api,
        inventory: Inventory,
        claims: Claims,
        board: Board,
        clock: Callable[[], float],
        random: Callable[[], float],
        agreement: Agreement | None = None,
    ) -> None:
        """Do nothing yet."""
        self._agreement = agreement or NoAgreement()
        self._name, self._api, self._inventory = node, api, inventory
        self._claims, self._board, self._clock, self._random = claims, board, clock, random
        self._node: Mapping[str, Any] = {}
        self._failures = 0
        self._asks_at = 0.0
        self._woken = threading.Event()
        self._is_registered = False
        self.is_ready = False
        """Whether the GPUs were offered once."""

    def registered(self) -> None:
        """The kubelet has taken the plugin: it has just removed the node's slice, or soon will."""
        self._is_registered = True
        self._woken.set()

    def step(self) -> None:
        """Look once. Health is reported and CDI files are made while the API server is away."""
        now = self._clock()
        asks = now >= self._asks_at
        problem = self._try(self._read_node) if asks else ""
        devices = self._inventory.look(self._node.get("annotations", {}))
        self._claims.know(devices)
        self._board.show(health.reports(self._name, devices, now))
        view = self._agreement.look(devices, self._claims.held)
        if broken := self._try(self._claims.repair):
            log.error("CDI files: %s", broken)
        if not asks:
            return
        if not problem and self._node:
            problem = self._try(lambda: self._write(devices, view))
        self._asks_at = now + self._pause(problem)

    def wait(self) -> None:
        """Until the next look, or until the kubelet has taken the plugin."""
        if self._woken.wait(INTERVAL):
            self._woken.clear()
            self._asks_at = 0.0

    def _read_node(self) -> None:
        self._node = read_node(self._api, self._name)

    def _write(self, devices: list[Device], view: View) -> None:
        if not self._claims.is_complete:
            self._claims.complete()
        if self._is_registered:
            publish(self._api, self._node, devices, view)
            self.is_ready = True

    def _try(self, action: Callable[[], object]) -> str:
        try:
            action()
        except (ApiError, OSError) as error:
            return str(error)
        return ""

    def _pause(self, problem: str) -> float:
        """Seconds until the API server is asked again."""
        if not problem:
            self._failures = 0
            return 0.0
        self._failures += 1
        # Bounded first: 2 to the power of a day's failures is a long number.
        longest = min(_MAX_PAUSE, INTERVAL * float(2 ** min(self._failures - 1, 10)))
        pause = longest * (0.5 + self._random() / 2)
        log.warning("%s; again in about %d s", problem, max(pause, INTERVAL))
        return pause
