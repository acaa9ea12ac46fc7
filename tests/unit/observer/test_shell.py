"""The watching shell, against a cluster that is a few lists in memory."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from devctl_observer import election, kinds, reflector, work_queue
from devctl_observer.caches import Caches, server_of_warning
from devctl_observer.controllers import Controllers
from devctl_observer.election import Election, LeadershipLostError
from devctl_observer.flavor_fit import node_facts
from devctl_observer.model import parse_server
from devctl_observer.probes import respond
from devctl_observer.reflector import Reflector
from devctl_observer.store import Key, Store
from devctl_observer.work_queue import WorkQueue
from lightkube import ApiError
from lightkube.models.coordination_v1 import LeaseSpec
from lightkube.models.core_v1 import ObjectReference
from lightkube.models.meta_v1 import ObjectMeta, Status
from lightkube.resources.apps_v1 import StatefulSet
from lightkube.resources.core_v1 import Pod

from unit.observer.objects import flavor, node, pod, server, warning

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from devctl_observer.cluster_api import ClusterApi
    from lightkube import AsyncClient

KEY = Key("dev-alice", "my-dev")


def api_error(code: HTTPStatus) -> ApiError:
    return ApiError(status=Status(code=int(code), message=code.phrase))


async def until(work: Coroutine[Any, Any, None], reached: Callable[[], bool]) -> None:
    """Let something run until what it is to bring about is there."""
    task = asyncio.ensure_future(work)
    async with asyncio.timeout(30):
        while not reached():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.01)
    task.cancel()


async def for_a_while(work: Coroutine[Any, Any, None], seconds: float = 0.1) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await work


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
            *(cast("AsyncClient", client), Pod, store, kinds.small_pod),
            lambda old, new: told.append((name(old), name(new))),
        )
        await until(follower.run(), lambda: len(told) > 5)
        assert follower.synced.is_set()
        return sorted(name(found) or "" for found in store)

    assert asyncio.run(play()) == ["b7", "c8"]
    expected = [(None, "a1"), (None, "b2"), ("a1", "a3"), ("a3", None), ("b2", "b7"), (None, "c8")]
    assert told == expected


def test_an_object_that_is_not_understood_hides_no_other() -> None:
    metadata = {"name": "x", "namespace": "n", "resourceVersion": "1"}
    broken = kinds.DevServer.from_dict({"metadata": metadata, "spec": {"flavor": 5}})
    client = FakeClient([[broken]], [])

    async def play() -> int:
        store: Store[Any] = Store()
        follower: Reflector[Any] = Reflector(
            *(cast("AsyncClient", client), kinds.DevServer, store, parse_server), lambda *_: None
        )
        await until(follower.run(), follower.synced.is_set)
        return len(store)

    assert asyncio.run(play()) == 0


class FakeLease:
    """A cluster with one lease."""

    def __init__(self) -> None:
        self.lease: Any = None
        self.version = 0
        self.broken = False

    async def get(self, _kind: Any, _name: str, **_options: Any) -> Any:
        if self.broken:
            raise api_error(HTTPStatus.SERVICE_UNAVAILABLE)
        if self.lease is None:
            raise api_error(HTTPStatus.NOT_FOUND)
        metadata = ObjectMeta(name="l", namespace="n", resourceVersion=str(self.version))
        return type(self.lease)(metadata=metadata, spec=self.lease.spec)

    async def create(self, lease: Any) -> None:
        self.lease, self.version = lease, self.version + 1

    async def replace(self, lease: Any) -> None:
        if lease.metadata.resourceVersion != str(self.version):
            raise api_error(HTTPStatus.CONFLICT)
        await self.create(lease)


def test_one_leads_another_waits_and_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "PAUSE", 0.01)
    cluster = FakeLease()

    async def play() -> None:
        client = cast("AsyncClient", cluster)
        first, second = (Election(client, "l", "n", who) for who in ("first", "second"))
        await first.win()
        await for_a_while(first.hold(), 0.05)
        await for_a_while(second.win(), 0.05)
        assert cluster.lease.spec.holderIdentity == "first"
        await second.release()  # not its own: nothing happens
        assert cluster.lease.spec.holderIdentity == "first"
        await first.release()
        await second.win()
        assert cluster.lease.spec.holderIdentity == "second"
        # A leader that died: its lease does not change for its whole duration.
        cluster.lease.spec = LeaseSpec(holderIdentity="second", leaseDurationSeconds=0)
        await first.win()
        assert cluster.lease.spec.leaseTransitions == 1

    asyncio.run(play())


def test_a_leader_that_cannot_renew_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "PAUSE", 0.01)
    monkeypatch.setattr(election, "RENEW", 0.05)
    cluster = FakeLease()

    async def play() -> None:
        leader = Election(cast("AsyncClient", cluster), "l", "n", "me")
        await leader.win()
        cluster.broken = True
        with pytest.raises(LeadershipLostError, match="could not be renewed"):
            await leader.hold()
        await leader.release()

    asyncio.run(play())


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


class FakeCluster:
    """Stores what is written, as the API server would."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []
        self.told: list[str] = []
        self.fails: ApiError | None = None

    async def apply_status(self, _kind: Any, meta: Any, status: dict[str, Any]) -> dict[str, Any]:
        if self.fails:
            raise self.fails
        self.written.append(status)
        version = str(int(meta.resource_version or 0) + len(self.written))
        metadata = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid}
        metadata |= {"generation": meta.generation, "resourceVersion": version}
        return {"metadata": metadata, "spec": {"flavor": "cpu-small"}, "status": status}

    async def tell(self, _server: Any, _version: str, said: Any) -> None:
        self.told.append(said.reason)


def filled() -> tuple[Caches, FakeCluster, Controllers]:
    caches, cluster = Caches(), FakeCluster()
    caches.servers.put(KEY, 100, server())
    caches.flavors.put(Key("", "cpu-small"), 1, flavor())
    caches.nodes.put(Key("", "node-a"), 1, node_facts(node()))
    labelled = pod(ready=True)
    assert labelled.metadata
    labelled.metadata.labels = {"devops.yourcompany.com/devserver": "my-dev"}
    caches.pods.put(Key("dev-alice", "my-dev-0"), 1, labelled)
    foreign = warning("Pod", "my-dev-0", "FailedMount", "of an earlier pod")
    caches.warnings.put(Key("dev-alice", "w"), 1, foreign)
    owner = {"apiVersion": "v1", "kind": "DevServer", "name": "my-dev", "uid": "u-1"}
    made = msgspec.convert(
        {
            "metadata": {"name": "my-dev", "uid": "s", "ownerReferences": [owner]},
            "spec": {"selector": {}, "serviceName": "my-dev", "template": {}},
        },
        StatefulSet,
    )
    caches.stateful_sets.put(KEY, 1, kinds.small_stateful_set(made))
    return caches, cluster, Controllers(caches, cast("ClusterApi", cluster))


def test_a_status_is_written_once() -> None:
    caches, cluster, controllers = filled()
    observed = caches.observe(KEY, server())
    assert observed.made
    assert observed.around.warnings == ()
    for _ in range(3):
        assert asyncio.run(controllers.server(KEY)) is None
        assert asyncio.run(controllers.flavor(Key("", "cpu-small"))) is None
    assert [status.get("phase") for status in cluster.written] == ["Running", None]
    assert cluster.told == ["Running"]
    assert controllers.writes == {"devserver": 1, "flavor": 1}
    assert asyncio.run(controllers.server(Key("dev-alice", "gone"))) is None
    assert asyncio.run(controllers.flavor(Key("", "gone"))) is None


@pytest.mark.parametrize("code", [HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT])
def test_what_is_gone_meanwhile_is_no_failure(code: HTTPStatus) -> None:
    _, cluster, controllers = filled()
    cluster.fails = api_error(code)
    assert asyncio.run(controllers.server(KEY)) is None
    assert asyncio.run(controllers.flavor(Key("", "cpu-small"))) is None
    assert controllers.writes == {"devserver": 0, "flavor": 0}


def test_a_refused_write_is_a_failure() -> None:
    _, cluster, controllers = filled()
    cluster.fails = api_error(HTTPStatus.FORBIDDEN)
    with pytest.raises(ApiError):
        asyncio.run(controllers.server(KEY))
    with pytest.raises(ApiError):
        asyncio.run(controllers.flavor(Key("", "cpu-small")))


def test_an_expiring_server_is_looked_at_in_time() -> None:
    caches, _, controllers = filled()
    caches.servers.put(KEY, 101, server(lifecycle={"timeToLive": "9999d"}))
    wait = asyncio.run(controllers.server(KEY))
    assert wait is not None
    assert wait > 86400
