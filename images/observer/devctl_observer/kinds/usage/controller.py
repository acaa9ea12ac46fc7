"""Settles the books of namespaces: reads what ran, and writes what it adds up to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus

from lightkube import ApiError

from devctl.api.usage import month_before, month_of
from devctl_observer.control.controller import Controller
from devctl_observer.control.figures import LOOKS
from devctl_observer.control.process import Process
from devctl_observer.judging.model import Meta
from devctl_observer.kinds.usage import figures
from devctl_observer.kinds.usage.book import USAGE, Book, Usage, write_book
from devctl_observer.kinds.usage.bounds import bounded
from devctl_observer.kinds.usage.ledger import Seen, has_news, settle, turned
from devctl_observer.kinds.usage.running import Running
from devctl_observer.kinds.usage.timeline import Timeline
from devctl_observer.watching.store import Key, Store

log = logging.getLogger(__name__)

EVERY = 300
"""Seconds after which what runs is counted again: so much is lost if nobody sees an end."""
PAUSE = 5.0
"""Seconds between two writes of a book: many pods start and end together."""
_AGAIN = 0.2
"""Seconds until a book is settled again that somebody else has written."""


class StaleError(Exception):
    """A book has been written by another process."""


class UsageController(Controller[Usage]):
    """Handles the work queue of namespaces; the store has their last books."""

    word = "usage"

    def __init__(self, running: Running, process: Process, *, pause: float = PAUSE) -> None:
        """Start without any state."""
        super().__init__(USAGE, Store(lambda item: item.metadata.namespace), process)
        self.running, self._pause = running, pause
        self.timeline = Timeline(process.clock.steady)
        self.notices: Callable[[str], Sequence[str]] = lambda _: ()
        """What the user of a namespace should know about budgets."""
        self._written: dict[str, float] = {}

    async def look(self, key: Key) -> float | None:
        """Settle the book of a namespace; the key has no name."""
        if key.name:
            return None
        LOOKS.labels(kind=self.word).inc()
        namespace, now = key.namespace, self._clock.steady()
        wait = self._written.get(namespace, -self._pause) + self._pause - now
        if wait > 0:
            return wait
        await self.timeline.start(self._api.time)
        try:
            return await self._settle(namespace)
        except StaleError:
            await self._refresh(namespace)
            return _AGAIN
        except ApiError as error:
            if error.status.code == HTTPStatus.CONFLICT:
                await self._refresh(namespace)
                return _AGAIN
            if _is_going(error):
                # Nothing can be written there any more.
                self._written.pop(namespace, None)
                self.running.forget(namespace)
                return None
            raise

    async def _look(self, key: Key, item: Usage) -> float | None:
        raise NotImplementedError("books are settled by namespace")

    async def _settle(self, namespace: str) -> float | None:
        steady = self._clock.steady()
        seen, now = self.running.seen(namespace, self.timeline), self.timeline.at(steady)
        stored = self.last(namespace)
        if stored is None:
            if not seen:
                return None
            # Before a first one is created, none may exist that the watch has left out.
            await self._refresh(namespace)
            stored = self.last(namespace)
        book = stored.book if stored else _first(seen.values(), now)
        while True:
            if book.complete:
                # By another process, which may be about to create the next one.
                book, stored = turned(book), None
            counted = settle(book, seen, now)
            if has_news(book, counted):
                written = bounded(counted)
                stored = await self._store(namespace, stored, written)
                figures.count(book, counted)
                counted = written
            if not counted.complete:
                break
            book = counted
        self.running.settled(namespace, counted, steady)
        if not any(entry.goes_on for entry in counted.open.values()):
            return None
        return min(EVERY, counted.end - now + 1)

    def last(self, namespace: str) -> Usage | None:
        """The newest book of a namespace."""
        found = self.store.find(namespace)
        return found[-1] if found else None

    async def _store(self, namespace: str, stored: Usage | None, book: Book) -> Usage:
        """Write a book, created if it is not `stored`.

        Raises:
            StaleError: It has been written by another process since.
        """
        spec = {**write_book(book), "notices": list(self.notices(namespace))}
        if stored is None:
            spec = {field: value for field, value in spec.items() if value is not None}
            meta = {"name": book.month, "namespace": namespace}
            answer = await self._api.create(self.kind, {"metadata": meta, "spec": spec})
        else:
            changed = await self._api.record(self.kind, stored.metadata, spec)
            if changed is None:
                raise StaleError
            answer = changed
        self._written[namespace] = self._clock.steady()
        item = self._put(self.kind.parse(answer))
        if stored is None:
            old = self.store.drop(Key(namespace, month_before(month_before(book.month))))
            if old:
                self.told(old, None)
        return item

    async def _refresh(self, namespace: str) -> None:
        """Read the books of a namespace past the cache."""
        listed = await self._api.list_now(self.kind.resource, namespace)
        found = {item["metadata"]["name"]: self.kind.parse(item) for item in listed}
        for key in [Key(namespace, item.metadata.name) for item in self.store.find(namespace)]:
            if key.name not in found and (old := self.store.drop(key)):
                self.told(old, None)
        for name in sorted(found)[-2:]:
            self._put(found[name])

    def _put(self, item: Usage) -> Usage:
        meta: Meta = item.metadata
        key = Key(meta.namespace, meta.name)
        old = self.store.get(key)
        if self.store.put(key, int(meta.resource_version or 0), item):
            self.told(old, item)
        return item


def _first(seen: Iterable[Seen], now: int) -> Book:
    """The first book of a namespace: what runs is counted from last month on at the earliest."""
    start = min((one.start for one in seen), default=now)
    return Book(max(month_of(start), month_before(month_of(now))))


def _is_going(error: ApiError) -> bool:
    """Whether the namespace is being deleted, or is gone."""
    about = error.status.details
    causes = (about.causes if about else None) or []
    gone = error.status.code == HTTPStatus.NOT_FOUND and about and about.kind == "namespaces"
    return bool(gone) or any(cause.reason == "NamespaceTerminating" for cause in causes)
