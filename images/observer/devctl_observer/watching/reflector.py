"""Keeps a store equal to what the API server has: one list, then one watch, and again on doubt."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import httpx2
import msgspec

from devctl_observer.watching.store import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightkube import AsyncClient

    from devctl_observer.watching.store import Store

T = TypeVar("T")
log = logging.getLogger(__name__)

_RENEW = 300
"""Seconds after which the API server ends a watch, which is then taken up where it ended."""
_SILENCE = _RENEW * 2
"""Seconds without any event after which the connection counts as dead and all is listed again."""
_LONGEST_PAUSE = 30.0


class Reflector(Generic[T]):
    """Follows one kind.

    Args:
        client: Where the objects are.
        kind: lightkube's class of the objects.
        store: Where they are kept.
        convert: What is kept of an object.
        changed: Called with the old and the new state of each object that changed.
        selectors: `labels` and `fields`, as lightkube takes them.
        everywhere: Whether the kind is in namespaces: then it is followed in all of them.
        keep: Whether an object is of interest, for what no selector can say.
    """

    def __init__(  # noqa: PLR0913 - what makes one kind differ from another
        self,
        client: AsyncClient,
        kind: Any,
        store: Store[T],
        convert: Callable[[Any], T],
        changed: Callable[[T | None, T | None], None],
        *,
        selectors: Mapping[str, Any] | None = None,
        everywhere: bool = True,
        keep: Callable[[Any], bool] = lambda _: True,
    ) -> None:
        """Connect nothing yet."""
        self._client = client
        self._kind = kind
        self._store = store
        self._convert = convert
        self._changed = changed
        self._keep = keep
        self._options = dict(selectors or {}) | ({"namespace": "*"} if everywhere else {})
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        failures = 0
        while True:
            try:
                version = await self._list()
                self.synced.set()
                failures = 0
                await self._watch(version)
            except (
                httpx2.HTTPError,
                httpx2.StreamError,
                msgspec.MsgspecError,
                TimeoutError,
            ) as error:
                # An outage of minutes must not end the process: caches would be lost with it.
                pause = min(_LONGEST_PAUSE, 0.2 * 2 ** min(failures, 10)) * random.uniform(0.5, 1)  # noqa: S311 - spreads load, protects nothing
                failures += 1
                log.info("%s: %r; listing again in %.1f s", self._kind.__name__, error, pause)
                await asyncio.sleep(pause)

    async def _list(self) -> str:
        """Take over all objects and drop what is gone; returns where to watch from."""
        objects = self._client.list(self._kind, chunk_size=500, **self._options)
        seen = set()
        async for obj in objects:
            seen.add(self._put(obj))
        for key in set(self._store.keys()) - seen:
            self._drop(key)
        return objects.resourceVersion

    async def _watch(self, version: str) -> None:
        stream: Any = self._client.watch(
            self._kind, resource_version=version, server_timeout=_RENEW, **self._options
        )
        async with aclosing(stream):
            while True:
                async with asyncio.timeout(_SILENCE):
                    operation, obj = await anext(stream)
                if operation == "DELETED":
                    self._drop(_key(obj))
                else:
                    self._put(obj)

    def _put(self, obj: Any) -> Key:
        key = _key(obj)
        if not self._keep(obj):
            self._drop(key)
            return key
        version = int(obj.metadata.resourceVersion or 0)
        try:
            old, new = self._store.get(key), self._convert(obj)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it
            # One object that no schema should let pass must not hide all others.
            log.warning("%s %s/%s is not understood: %r", self._kind.__name__, *key, error)
            self._drop(key)
            return key
        if self._store.put(key, version, new) and old != new:
            self._changed(old, new)
        return key

    def _drop(self, key: Key) -> None:
        if (old := self._store.drop(key)) is not None:
            self._changed(old, None)


def _key(obj: Any) -> Key:
    return Key(obj.metadata.namespace or "", obj.metadata.name or "")
