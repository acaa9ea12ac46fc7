"""Keeps a store in sync with the API server: a list, then a watch; again after any error."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, NamedTuple

import httpx2
import msgspec
from lightkube import ApiError

from devctl_observer.watching.source import Source
from devctl_observer.watching.store import Key, Store

log = logging.getLogger(__name__)

_TROUBLE = 3
"""Failures in a row that count as a problem."""
_LONGEST_PAUSE = 30.0
_ABSENT = 10.0
"""Seconds until an optional kind that does not exist is looked for again."""


class Followed(NamedTuple):
    """One kind to watch."""

    kind: Any
    """lightkube's class for the objects."""
    store: Store[Any]
    convert: Callable[[Any], Any]
    """Reduces an object to what is stored."""
    changed: Callable[[Any, Any], None]
    """Called with the old and new state of each changed object."""
    selectors: Mapping[str, Any] = {}
    """`labels` and `fields`, as lightkube takes them."""
    keep: Callable[[Any], bool] = lambda _: True
    """Whether to store an object, beyond what selectors can express."""
    optional: bool = False
    """Whether the kind may be missing: it has no objects until somebody installs it."""


class Reflector:
    """Watches one kind."""

    def __init__(self, source: Source, followed: Followed) -> None:
        """Set up without connecting yet."""
        self._source, self._followed = source, followed
        self._kind, self._store = followed.kind, followed.store
        self.synced = asyncio.Event()
        self._failures, self._error = 0, "not listed yet"

    @property
    def problem(self) -> str:
        """Why the store is out of sync; empty if it is not."""
        if self.synced.is_set() and self._failures < _TROUBLE:
            return ""
        return f"{self._kind.__name__}: {self._error}"

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                version = await self._list()
                self.synced.set()
                self._failures = 0
                await self._watch(version)
            except (httpx2.HTTPError, httpx2.StreamError, msgspec.MsgspecError) as error:
                if self._followed.optional and _is_missing(error):
                    self._empty()
                    await asyncio.sleep(_ABSENT)
                    continue
                # An outage must not end the process, because its caches would be lost.
                wait = min(_LONGEST_PAUSE, 0.2 * 2 ** min(self._failures, 10))
                pause = wait * random.uniform(0.5, 1)  # noqa: S311 - jitter, not cryptography
                self._failures += 1
                self._error = str(error) or repr(error)
                level = logging.INFO if self._failures < _TROUBLE else logging.WARNING
                log.log(level, "%s: %r; retrying in %.1f s", self._kind.__name__, error, pause)
                await asyncio.sleep(pause)

    async def _list(self) -> str:
        """Store all objects and drop those that are gone; returns the version to watch from."""
        objects = self._source.list(self._kind, self._followed.selectors)
        seen = set()
        async for obj in objects:
            seen.add(self._put(obj))
        for key in set(self._store.keys()) - seen:
            self._drop(key)
        return str(objects.resourceVersion)

    async def _watch(self, version: str) -> None:
        stream: Any = self._source.watch(self._kind, version, self._followed.selectors)
        async with aclosing(stream):
            async for operation, obj in stream:
                if operation == "DELETED":
                    self._drop(_key(obj))
                else:
                    self._put(obj)

    def _empty(self) -> None:
        """Be in sync with a kind that does not exist."""
        for key in self._store.keys():  # noqa: SIM118 - a Store is not a dict
            self._drop(key)
        self.synced.set()
        self._failures = 0

    def _put(self, obj: Any) -> Key:
        key = _key(obj)
        if not self._followed.keep(obj):
            self._drop(key)
            return key
        version = int(obj.metadata.resourceVersion or 0)
        try:
            old, new = self._store.get(key), self._followed.convert(obj)
        except Exception as error:  # noqa: BLE001 - objects can be malformed in any way
            # One malformed object, which the schema should have rejected, must not hide all others.
            log.warning("cannot parse %s %s/%s: %r", self._kind.__name__, *key, error)
            self._drop(key)
            return key
        if self._store.put(key, version, new) and old != new:
            self._followed.changed(old, new)
        return key

    def _drop(self, key: Key) -> None:
        if (old := self._store.drop(key)) is not None:
            self._followed.changed(old, None)


def _key(obj: Any) -> Key:
    return Key(obj.metadata.namespace or "", obj.metadata.name or "")


def _is_missing(error: Exception) -> bool:
    """Whether the API server does not know the kind."""
    if isinstance(error, ApiError):
        return error.status.code == HTTPStatus.NOT_FOUND
    return (
        isinstance(error, httpx2.HTTPStatusError)
        and error.response.status_code == HTTPStatus.NOT_FOUND
    )
