"""Places in Kueue's queues: what Kueue says, or else what its Workloads say."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import httpx2

from devctl_gateway.cluster.workloads import places, says

log = logging.getLogger(__name__)

_VISIBILITY = "apis/visibility.kueue.x-k8s.io/v1beta2"
_WORKLOADS = "apis/kueue.x-k8s.io/v1beta2"
_FRESH = 2.0
"""Seconds for which an answer is used again, so that many who ask cost one request."""
_AWAY = 30.0
"""Seconds until Kueue is asked again after it did not answer."""
_MOST = 10_000
"""Places that are asked for."""
_TIMEOUT = httpx2.Timeout(3)


class Queues:
    """The queues of a namespace.

    Args:
        http: The API server.
        namespace: Where jobs run.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        namespace: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask nothing yet."""
        self._http, self._namespace, self._clock = http, namespace, clock
        self._known: dict[str, tuple[float, dict[str, int]]] = {}
        self._away_until = float("-inf")
        self._turn = asyncio.Lock()

    async def places(self, queue: str) -> dict[str, int]:
        """The places of jobs in a LocalQueue, by their names: 1 is next.

        By Kueue's own word, it is the place in the ClusterQueue, which several LocalQueues may
        share. By Workloads, it is that in the LocalQueue. Empty if neither can be had.
        """
        async with self._turn:
            at, found = self._known.get(queue, (float("-inf"), {}))
            if self._clock() - at >= _FRESH:
                said = await self._said(queue)
                found = await self._computed(queue) if said is None else said
                self._known[queue] = self._clock(), found
            return found

    async def _said(self, queue: str) -> dict[str, int] | None:
        """Kueue's own word; None if it cannot be had."""
        if self._clock() < self._away_until:
            return None
        path = f"{_VISIBILITY}/namespaces/{self._namespace}/localqueues/{queue}/pendingworkloads"
        items = await self._items(path, {"limit": str(_MOST)})
        if items is None:
            self._away_until = self._clock() + _AWAY
            return None
        return says(items)

    async def _computed(self, queue: str) -> dict[str, int]:
        """By priority and age, as Kueue orders them."""
        path = f"{_WORKLOADS}/namespaces/{self._namespace}/workloads"
        return places(await self._items(path, {}) or [], queue)

    async def _items(self, path: str, query: dict[str, str]) -> list[Any] | None:
        """The items of a list; None if it cannot be had: Kueue is away, or there is none."""
        try:
            answer = await self._http.get(path, params=query, timeout=_TIMEOUT)
            answer.raise_for_status()
            return list(answer.json().get("items") or [])
        except (httpx2.HTTPError, ValueError) as error:
            log.info("%s: %r", path, error)
            return None
