"""`AsyncClient`: every part and method of `Client`, without standing in the event loop's way."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from support.sockets import socket_disabled  # noqa: F401 - pytest looks for it here

from devctl.client import async_calls
from devctl.client.async_calls import AsyncPart, awaited, entered, iterated
from devctl.client.async_client import AsyncClient
from devctl.client.client import Client
from devctl.errors import NotFoundError
from devctl.kube.cluster import Cluster
from unit.client.objects import server
from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unit.client.fake_cluster import FakeApi


@pytest.fixture
def connected(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    monkeypatch.setattr(Cluster, "connect", api.connect)
    return api


def public(thing: object) -> set[str]:
    """The names of a part's methods and parts."""
    return {name for name in dir(thing) if not name.startswith("_")}


def missing(sync: object, other: object) -> Iterator[str]:
    """What the part of AsyncClient lacks, or has too much."""
    yield from (f"{type(other).__name__}.{n}" for n in public(sync) ^ (public(other) - {"sync"}))
    for name in public(sync) & public(other):
        found = getattr(other, name)
        if isinstance(found, AsyncPart):
            yield from missing(getattr(sync, name), found)


@pytest.mark.usefixtures("connected")
def test_it_has_every_part_and_method_of_the_client() -> None:
    client = AsyncClient()
    # `cluster` asks without awaiting.
    absent = public(client.sync) - public(client) - {"cluster", "close"}
    assert not absent
    for name in public(client.sync) & public(client):
        if isinstance(part := getattr(client, name), AsyncPart):
            assert not list(missing(getattr(client.sync, name), part))


def test_calls_are_awaited_and_lists_are_iterated(connected: FakeApi) -> None:
    connected.add("devservers", server("one"))
    connected.add("devservers", server("two"))

    async def names() -> list[str]:
        async with AsyncClient(namespace=connected.namespace) as client:
            found = await asyncio.gather(client.servers.get("one"), client.servers.get("two"))
            listed = [each.name async for each in client.servers.list()]
            assert [each.name for each in found] == listed
            with pytest.raises(NotFoundError, match="no server `three`"):
                await client.servers.get("three")
        assert client.sync.cluster.closed
        return listed

    assert asyncio.run(names()) == ["one", "two"]


class Steps:
    """A part of which each kind of method is known to have run, and in which thread."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.go = threading.Event()
        self.waits = threading.Event()
        self.threads: set[int] = set()

    def slow(self, value: int) -> int:
        self.threads.add(threading.get_ident())
        self.waits.set()
        self.go.wait(PATIENCE)
        return value

    def numbers(self) -> Iterator[int]:
        try:
            for number in range(1000):
                self.threads.add(threading.get_ident())
                yield number
                if number == 1:
                    self.waits.set()
                    self.go.wait(PATIENCE)
        finally:
            self.log.append("closed")

    @contextmanager
    def opened(self) -> Iterator[str]:
        self.log.append("entered")
        try:
            yield "inside"
        except ValueError:
            self.log.append("failed")
            raise
        finally:
            self.log.append("left")


class AsyncSteps(AsyncPart):
    slow = awaited(Steps.slow)
    numbers = iterated(Steps.numbers)
    opened = entered(Steps.opened)


async def until(reached: Callable[[], object]) -> None:
    """Wait for what another thread does."""
    async with asyncio.timeout(PATIENCE):
        while not reached():  # noqa: ASYNC110 - threads have no events of asyncio's
            await asyncio.sleep(0.01)


def test_nothing_runs_in_the_event_loops_thread() -> None:
    steps = Steps()

    async def use() -> list[int]:
        part = AsyncSteps(steps)
        waiting = asyncio.gather(part.slow(1), part.slow(2))
        taken = []
        async for number in part.numbers():
            taken.append(number)
            if number == 1:
                steps.go.set()
            if number == 3:
                break
        return [*taken, *await waiting]

    assert asyncio.run(use()) == [0, 1, 2, 3, 1, 2]
    assert threading.get_ident() not in steps.threads


def test_an_iterator_ends_with_its_reader() -> None:
    steps = Steps()

    async def use() -> None:
        async for _ in AsyncSteps(steps).numbers():
            break
        await until(lambda: "closed" in steps.log)

    asyncio.run(use())


def test_a_reader_that_is_cancelled_does_not_wait_for_the_next_item() -> None:
    steps = Steps()

    async def read() -> None:
        async for _ in AsyncSteps(steps).numbers():
            pass

    async def use() -> None:
        reader = asyncio.create_task(read())
        await until(steps.waits.is_set)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert steps.log == []  # the step is still under way
        steps.go.set()
        await until(lambda: "closed" in steps.log)

    asyncio.run(use())


def test_a_call_that_is_cancelled_does_no_harm() -> None:
    steps = Steps()

    async def use() -> None:
        call = asyncio.ensure_future(AsyncSteps(steps).slow(1))
        await until(steps.waits.is_set)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        steps.go.set()
        assert await AsyncSteps(steps).slow(2) == 2

    asyncio.run(use())


@pytest.mark.parametrize("fails", [False, True])
def test_a_context_is_left(*, fails: bool) -> None:
    steps = Steps()

    async def use() -> None:
        async with AsyncSteps(steps).opened() as value:
            assert value == "inside"
            if fails:
                raise ValueError("ours")

    if fails:
        with pytest.raises(ValueError, match="ours"):
            asyncio.run(use())
    else:
        asyncio.run(use())
    assert steps.log == ["entered", *(["failed"] if fails else []), "left"]


def test_what_is_entered_and_iterated_is_left() -> None:
    left: list[Any] = []

    class Followed:
        def __iter__(self) -> Iterator[int]:
            return iter([1, 2])

        def __exit__(self, *details: object) -> None:
            left.append(details)

    async def use() -> list[int]:
        begin: Any = lambda: async_calls._begin(Followed)  # noqa: E731, SLF001
        found = [number async for number in async_calls._items(begin)]  # noqa: SLF001
        await until(lambda: left)
        return found

    assert asyncio.run(use()) == [1, 2]
    assert left == [(None, None, None)]


@pytest.mark.usefixtures("connected")
def test_the_client_is_a_context() -> None:
    with Client() as client:
        assert not client.cluster.closed  # type: ignore[attr-defined]
    assert client.cluster.closed  # type: ignore[attr-defined]
