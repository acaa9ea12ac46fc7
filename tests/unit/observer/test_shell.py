"""Stores, queues, reflectors and probes, with a fake cluster of lists in memory."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_observer.control import work_queue
from devctl_observer.control.work_queue import WorkQueue
from devctl_observer.kinds.servers.model import SERVER
from devctl_observer.probes import respond
from devctl_observer.watching import reflector
from devctl_observer.watching.kept import small_pod
from devctl_observer.watching.reflector import Followed, Reflector
from devctl_observer.watching.store import Key, Store
from lightkube.models.core_v1 import ObjectReference
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Pod

from unit.observer.running import api_error, for_an_hour, idle_observer, servers_of, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from devctl_observer.watching.source import Source

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
                queue.add(key)  # something changed while it was being handled
            await asyncio.sleep(0)

        queue = WorkQueue(handle)
        for _ in range(5):
            queue.add(KEY)
        assert queue.waiting == 1
        await until(queue.run(), lambda: len(seen) > 1)
        assert queue.waiting == 0
        await for_an_hour(queue.run())
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
        await for_an_hour(queue.run())
        return seen

    assert asyncio.run(play()) == 3


def test_what_fails_for_long_is_soon_done_once_it_can_be() -> None:
    """Then, expired objects must be deleted within 30 seconds."""
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
    """The result of a list."""

    resourceVersion = "10"  # noqa: N815 - the library's name

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    async def __aiter__(self) -> AsyncIterator[Any]:
        for item in self._items:
            yield item


class FakeSource:
    """Lists one set of objects after the other; each watch yields its events and then fails."""

    def __init__(self, lists: list[list[Any]], events: list[tuple[str, Any]]) -> None:
        self._lists, self._events = lists, events

    def list(self, _kind: Any, _selectors: Any) -> FakeList:
        return FakeList(self._lists.pop(0) if len(self._lists) > 1 else self._lists[0])

    async def watch(self, _kind: Any, version: str, _: Any) -> AsyncIterator[tuple[str, Any]]:
        assert version == "10"
        while self._events:
            yield self._events.pop(0)
        raise api_error(HTTPStatus.GONE)


def following(
    source: FakeSource,
    kind: Any,
    convert: Callable[[Any], Any],
    store: Store[Any] | None = None,
    changed: Callable[[Any, Any], None] = lambda *_: None,
) -> Reflector:
    followed = Followed(kind, Store() if store is None else store, convert, changed)
    return Reflector(cast("Source", source), followed)


def versioned(name: str, version: int) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="n", resourceVersion=str(version)))


def test_a_watch_that_ends_in_doubt_is_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "_LONGEST_PAUSE", 0.01)
    source = FakeSource(
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
        changed = lambda old, new: told.append((name(old), name(new)))  # noqa: E731 - it is short
        follower = following(source, Pod, small_pod, store, changed)
        await until(follower.run(), lambda: len(told) > 5)
        assert follower.synced.is_set()
        return sorted(name(found) or "" for found in store)

    assert asyncio.run(play()) == ["b7", "c8"]
    expected = [(None, "a1"), (None, "b2"), ("a1", "a3"), ("a3", None), ("b2", "b7"), (None, "c8")]
    assert told == expected


def test_a_reflector_says_what_keeps_it_from_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "_LONGEST_PAUSE", 0.01)

    class Forbidden(FakeSource):
        def list(self, *_: Any, **__: Any) -> FakeList:
            raise api_error(HTTPStatus.FORBIDDEN)

    async def play() -> list[str]:
        said = []
        for source in (Forbidden([], []), FakeSource([[]], [])):
            follower = following(source, Pod, small_pod)
            said.append(follower.problem)
            done = follower.synced.is_set
            await until(follower.run(), lambda: done() or "Forbidden" in follower.problem)  # noqa: B023 - used at once
            said.append(follower.problem)
        return said

    assert asyncio.run(play()) == [
        "Pod: not listed yet",
        "Pod: Forbidden",
        "Pod: not listed yet",
        "",
    ]


@pytest.mark.parametrize(("failures", "problem"), [(1, ""), (2, ""), (3, "Pod: Gone")])
def test_a_watch_that_fails_now_and_then_is_no_problem(
    failures: int, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "_LONGEST_PAUSE", 0.0)

    class Hanging(FakeList):
        async def __aiter__(self) -> AsyncIterator[Any]:
            await asyncio.Event().wait()
            yield None

    class Failing(FakeSource):
        lists = 0

        def list(self, *of: Any, **how: Any) -> FakeList:
            self.lists += 1
            if self.lists > failures:
                return Hanging([])
            if self.lists > 1:
                raise api_error(HTTPStatus.GONE)
            return super().list(*of, **how)

    async def play() -> str:
        source = Failing([[]], [])
        follower = following(source, Pod, small_pod)
        await until(follower.run(), lambda: source.lists > failures)
        return follower.problem

    assert asyncio.run(play()) == problem


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
    broken = SERVER.resource.from_dict({"metadata": metadata | {"name": "x"}, **drifted})
    sound = SERVER.resource.from_dict({"metadata": metadata | {"name": "y"}, "spec": {}})
    source = FakeSource([[broken, sound]], [])

    async def play() -> int:
        store: Store[Any] = Store()
        follower = following(source, SERVER.resource, SERVER.parse, store)
        await until(follower.run(), follower.synced.is_set)
        return len(store)

    assert asyncio.run(play()) == 1


def test_the_kubelet_is_answered() -> None:
    for path in (b"/healthz", b"/readyz"):
        assert respond([b"GET", path, b"HTTP/1.1"], []).startswith(b"HTTP/1.1 200 OK")
    assert b"\r\n\r\n# HELP devctl_observer_leader " in respond([b"GET", b"/metrics"], [])
    for words in ([], [b"GET"], [b"POST", b"/healthz"], [b"GET", b"/etc/passwd"]):
        assert b"404 Not Found" in respond(words, [])


def test_what_cannot_work_is_alive_and_not_ready() -> None:
    problems = ["Pod: pods is forbidden", "no process holds lease `x`"]
    said = respond([b"GET", b"/readyz"], problems)
    assert said.startswith(b"HTTP/1.1 503 ")
    assert said.endswith(b"\r\n\r\nPod: pods is forbidden\nno process holds lease `x`\n")
    assert respond([b"GET", b"/healthz"], problems).startswith(b"HTTP/1.1 200 OK")


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
    about = ObjectReference(kind=kind, name=name, namespace="dev-alice")
    assert servers_of(idle_observer()).of_child(about) == expected
