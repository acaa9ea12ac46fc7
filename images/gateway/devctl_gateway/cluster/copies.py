"""Copies of the API server's objects, by a list and then a watch; again after any error."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2

Thing = dict[str, Any]
Changed = Callable[[str, Thing | None, Thing | None], None]
"""Called with the key of an object, and with what was kept of it before and is now."""

log = logging.getLogger(__name__)

STALE = 60.0
"""Seconds without an answer from the API server after which a copy is not current any more."""
_WATCH_SECONDS = 45
"""How long a watch lasts: a quiet one may have no bookmark, and is heard of when it is renewed."""
_PAGE = 500
_LONGEST_PAUSE = 15.0


class Copy:
    """A copy of the objects of a kind.

    Args:
        http: The API server.
        path: Of the list.
        keep: What is kept of an object.
        changed: Called for each change.
        key: What objects are found by.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        path: str,
        *,
        keep: Callable[[Thing], Thing] = lambda thing: thing,
        changed: Changed = lambda *_: None,
        key: Callable[[Thing], str] = lambda thing: str(thing["metadata"]["name"]),
    ) -> None:
        """Know nothing yet."""
        self._http, self._path = http, path
        self._keep, self._changed, self._key = keep, changed, key
        self._heard = float("-inf")
        self.objects: dict[str, Thing] = {}

    @property
    def current(self) -> bool:
        """Whether the API server was heard of lately: a watch is renewed more often than that."""
        return time.monotonic() - self._heard < STALE + _LONGEST_PAUSE

    async def run(self) -> None:
        """List and watch until cancelled."""
        failures = 0
        while True:
            try:
                version = await self._list()
                while version:
                    failures = 0
                    version = await self._watch(version)
            except Exception as error:  # noqa: BLE001 - whatever was sent, the copy goes on
                failures += 1
                longest = min(_LONGEST_PAUSE, 0.2 * 2 ** min(failures, 10))
                pause = longest * random.uniform(0.5, 1)  # noqa: S311 - jitter, not cryptography
                log.warning("%s: %r; again in %.1f s", self._path, error, pause)
                await asyncio.sleep(pause)

    async def _list(self) -> str:
        """Keep what there is, and drop what is gone; the version to watch from."""
        found: dict[str, Thing] = {}
        query: dict[str, Any] = {"limit": _PAGE}
        while True:
            answer = await self._http.get(self._path, params=query)
            answer.raise_for_status()
            page = answer.json()
            found |= {self._key(thing): thing for thing in page.get("items") or []}
            version = str(page["metadata"]["resourceVersion"])
            following = page["metadata"].get("continue")
            if not following:
                break
            query["continue"] = following
        for key, thing in found.items():
            self._put(key, thing)
        for key in set(self.objects) - set(found):
            self._drop(key)
        self._heard = time.monotonic()
        return version

    async def _watch(self, version: str) -> str:
        """Follow changes until the API server ends it; where to go on, empty to list again."""
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        timeout = httpx2.Timeout(10, read=STALE)
        stream = self._http.stream("GET", self._path, params=query, timeout=timeout)
        async with stream as answer:
            answer.raise_for_status()
            self._heard = time.monotonic()
            async for event in _events(answer):
                self._heard = time.monotonic()
                thing = event["object"]
                if event["type"] == "ERROR":
                    return ""
                version = str(thing["metadata"]["resourceVersion"])
                if event["type"] == "DELETED":
                    self._drop(self._key(thing))
                elif event["type"] != "BOOKMARK":
                    self._put(self._key(thing), thing)
        return version

    def _put(self, key: str, thing: Thing) -> None:
        old, new = self.objects.get(key), self._keep(thing)
        self.objects[key] = new
        if old != new:
            self._changed(key, old, new)

    def _drop(self, key: str) -> None:
        old = self.objects.pop(key, None)
        if old is not None:
            self._changed(key, old, None)


async def _events(answer: httpx2.Response) -> AsyncIterator[Thing]:
    async for line in answer.aiter_lines():
        yield json.loads(line)
