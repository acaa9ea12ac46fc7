"""The watching shell, against a cluster that is a few lists in memory."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_observer.control import work_queue
from devctl_observer.control.work_queue import WorkQueue
from devctl_observer.probes import respond
from devctl_observer.servers.caches import server_of_warning
from devctl_observer.servers.model import DevServer, parse_server
from devctl_observer.watching import reflector
from devctl_observer.watching.kept import small_pod
from devctl_observer.watching.reflector import Reflector
from devctl_observer.watching.store import Key, Store
from lightkube.models.core_v1 import ObjectReference
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Pod

from unit.observer.running import api_error, for_a_while, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lightkube import AsyncClient

KEY = Key("dev-alice", "my-dev")


def test_a_store_keeps_the_newest_and_finds_by_index() -> None:
    store: Store[str] = Store(lambda text: text[0])
    assert store.put(Key("", "a"), 5, "x1")
    assert not store.put(Key("", "a"), 4, "old")
    assert store.put(Key("", "b"), 1, "x2")
    assert store.find("x") == ["x1", "x2"]
    assert store.put(Key("", "a"), 6, "y1")
    assert (store.find("x"), store.find("y"), len(store)) == (["x2"], ["y1"], 2)
    assert store.drop(Key("", "b")) == "x2"
    assert store.drop(Key("", "b")) is None
    assert (store.find("x"), list(store), store.get(Key("", "b"))) == ([], ["y1"], None)


def test_a_key_is_worked_on_once_for_a_burst_and_again_after_a_change() -> None:
    async def play() -> list[str]:
        seen: list[str] = []

        async def handle(key: Key) -> None:
            seen.append(key.name)
            if len(seen) == 1:
                queue.add(key)  # something changed while it was worked on
            await asyncio.sleep(0)

        queue = WorkQueue(handle)
        for _ in range(5):
            queue.add(KEY)
        await until(queue.run(), lambda: len(seen) > 1)
        await for_a_while(queue.run())
        return seen

    assert asyncio.run(play()) == ["my-dev"] * 2


def test_a_failure_is_tried_again_and_a_deadline_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_queue, "_FIRST_RETRY", 0.01)

    async def play() -> int:
        seen = 0

        async def handle(_key: Key) -> float | None:
            nonlocal seen
            seen += 1
            if seen == 1:
                raise ValueError("out of order")
            return 0.01 if seen == 2 else None

        queue = WorkQueue(handle)
        queue.add(KEY)
        await until(queue.run(), lambda: seen > 2)
        await for_a_while(queue.run())
        return seen

    assert asyncio.run(play()) == 3


def test_what_fails_for_long_is_soon_done_once_it_can_be() -> None:
    """A time to live is kept within 30 seconds, counted from then."""
    pauses: list[float] = []

    class Hurried(WorkQueue):
        def add_later(self, key: Key, seconds: float) -> None:
            pauses.append(seconds)
            super().add_later(key, 0)

    async def fail(_key: Key) -> float | None:
        raise ValueError("refused")

    async def play() -> None:
        queue = Hurried(fail)
        queue.add(KEY)
        await until(queue.run(), lambda: len(pauses) > 9)

    asyncio.run(play())
    assert pauses[:4] == [0.5, 1, 2, 4]
    assert pauses[-1] == pauses[-2] <= 20


class FakeList:
    """What `client.list` returns."""

    resourceVersion = "10"  # noqa: N815 - the library's name

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    async def __aiter__(self) -> AsyncIterator[Any]:
        for item in self._items:
            yield item


class FakeClient:
    """Lists one set of objects after the other; each watch gives its events and then fails."""

    def __init__(self, lists: list[list[Any]], events: list[tuple[str, Any]]) -> None:
        self._lists, self._events = lists, events

    def list(self, _kind: Any, **_options: Any) -> FakeList:
        return FakeList(self._lists.pop(0) if len(self._lists) > 1 else self._lists[0])

    async def watch(self, _kind: Any, **options: Any) -> AsyncIterator[tuple[str, Any]]:
        assert options["resource_version"] == "10"
        while self._events:
            yield self._events.pop(0)
        raise api_error(HTTPStatus.GONE)


def versioned(name: str, version: int) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="n", resourceVersion=str(version)))


def test_a_watch_that_ends_in_doubt_is_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "_LONGEST_PAUSE", 0.01)
    client = FakeClient(
        [[versioned("a", 1), versioned("b", 2)], [versioned("b", 7), versioned("c", 8)]],
        [("MODIFIED", versioned("a", 3)), ("DELETED", versioned("a", 4))],
    )
    told: list[tuple[str | None, str | None]] = []

    def name(found: Pod | None) -> str | None:
        return (
            f"{found.metadata.name}{found.metadata.resourceVersion}"
            if found and found.metadata
            else None
        )

    async def play() -> list[str]:
        store: Store[Pod] = Store()
        follower: Reflector[Pod] = Reflector(
            *(cast("AsyncClient", client), Pod, store, small_pod),
            lambda old, new: told.append((name(old), name(new))),
        )
        await until(follower.run(), lambda: len(told) > 5)
        assert follower.synced.is_set()
        return sorted(name(found) or "" for found in store)

    assert asyncio.run(play()) == ["b7", "c8"]
    expected = [(None, "a1"), (None, "b2"), ("a1", "a3"), ("a3", None), ("b2", "b7"), (None, "c8")]
    assert told == expected


@pytest.mark.parametrize(
    "drifted",
    [
        {"spec": {"flavor": 5}},
        {"spec": {"mode": "distributed", "distributed": {"worldSize": 0}}},
        {"spec": None},
        {},
        {"spec": {}, "status": "Running"},
    ],
)
def test_an_object_that_is_not_understood_hides_no_other(drifted: dict[str, Any]) -> None:
    metadata = {"namespace": "n", "resourceVersion": "1"}
    broken = DevServer.from_dict({"metadata": metadata | {"name": "x"}, **drifted})
    sound = DevServer.from_dict({"metadata": metadata | {"name": "y"}, "spec": {}})
    client = FakeClient([[broken, sound]], [])

    async def play() -> int:
        store: Store[Any] = Store()
        follower: Reflector[Any] = Reflector(
            *(cast("AsyncClient", client), DevServer, store, parse_server), lambda *_: None
        )
        await until(follower.run(), follower.synced.is_set)
        return len(store)

    assert asyncio.run(play()) == 1


def test_the_kubelet_is_answered() -> None:
    assert respond([b"GET", b"/healthz", b"HTTP/1.1"], str).startswith(b"HTTP/1.1 200 OK")
    assert respond([b"GET", b"/metrics"], lambda: "x 1\n").endswith(b"\r\n\r\nx 1\n")
    for words in ([], [b"GET"], [b"POST", b"/healthz"], [b"GET", b"/etc/passwd"]):
        assert b"404 Not Found" in respond(words, str)


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("StatefulSet", "my-dev", KEY),
        ("Pod", "my-dev-0", KEY),
        ("PersistentVolumeClaim", "home-my-dev-12", KEY),
        ("PersistentVolumeClaim", "shared", None),
        ("Pod", "other", None),
        ("Node", "my-dev-0", None),
    ],
)
def test_a_warning_finds_its_server(kind: str, name: str, expected: Key | None) -> None:
    assert (
        server_of_warning(ObjectReference(kind=kind, name=name, namespace="dev-alice")) == expected
    )
