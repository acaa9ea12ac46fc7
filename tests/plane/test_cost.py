"""What ran is counted once, to the second and the millionth, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from lightkube import AsyncClient, KubeConfig
from support.servers import SMALL, DevServer, apply_flavor, small_server, wait_until
from support.usage_history import RealBooks, World

from devctl.api.conditions import find
from devctl.api.usage import Amounts, LineKey, month_of, next_month, read_line, start_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.parts import ObserverProcess
    from support.plane.plane import Plane

    from devctl.local.images import Image

EVENTS, WORLDS = int(os.environ.get("DEVCTL_EVENTS", "2400")), 8
MINUTE, HOUR = 60, 3600
PRICE = {"perHour": "3.60", "currency": "EUR"}


@pytest.fixture
def namespaces(kubectl: Kubectl, namespace: str) -> Iterator[list[str]]:
    """Several of the test's own."""
    names = [f"{namespace}-{number}" for number in range(WORLDS)]
    for name in names:
        kubectl("create", "namespace", name)
    yield names
    kubectl("delete", "namespace", *names, "--wait=false")


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    """A server whose flavor has a price."""
    with small_server(kubectl, namespace, images["base"].reference) as made:
        apply_flavor(kubectl, namespace, resources=SMALL, price=PRICE)
        yield made


def books(server: DevServer) -> dict[str, Any]:
    """The books of its namespace, by month."""
    return {book["metadata"]["name"]: book["spec"] for book in server.get("usage")}


def lines(server: DevServer) -> dict[LineKey, Amounts]:
    """All lines of its namespace."""
    found = (line for book in books(server).values() for line in book.get("lines", []))
    return dict(map(read_line, found))


def is_open(server: DevServer) -> bool:
    """Whether anything is counted now."""
    return any(book.get("open") for book in books(server).values())


def again(observer: ObserverProcess) -> None:
    """Another process of the observer."""
    observer.kill()
    observer.start()


def test_thousands_of_events_are_counted_once(plane: Plane, namespaces: list[str]) -> None:
    seed = int(os.environ.get("DEVCTL_SEED", "7"))

    async def live() -> list[World]:
        client = AsyncClient(KubeConfig.from_file(plane.account("devctl-observer")))
        worlds = [
            World(RealBooks(client), name, seed + number) for number, name in enumerate(namespaces)
        ]
        await asyncio.gather(*(world.live(EVENTS // WORLDS) for world in worlds))
        for world in worlds:
            wanted = {line: sums for line, sums in world.oracle.sums.items() if any(sums)}
            assert await world.sums() == wanted, f"DEVCTL_SEED={seed}"
            assert world.uncounted() == []
        return worlds

    worlds = asyncio.run(live())
    did = sum((world.did for world in worlds), Counter[str]())
    faults = sum((world.faults for world in worlds), Counter[str]())
    assert did.total() >= EVENTS
    assert len(did) == 8, did
    assert len(faults) == 4, faults
    months = {line[0] for world in worlds for line in world.oracle.sums}
    assert len(months) > 1, "a month ends"


@pytest.mark.usefixtures("deployed")
def test_a_server_is_counted_until_it_is_deleted(
    server: DevServer, observer: ObserverProcess
) -> None:
    began = time.time()
    server.apply()
    server.wait("Ready")
    wait_until(lambda: is_open(server), "it is counted")
    again(observer)
    server.stop()
    wait_until(lambda: not is_open(server), "it is counted no more")
    first = lines(server)
    server.start()
    wait_until(lambda: is_open(server), "it is counted again")
    observer.kill()
    server.delete()
    observer.start()
    wait_until(lambda: not is_open(server), "its end is noticed")
    took = time.time() - began
    ((key, amounts),) = lines(server).items()
    assert (key.owner, key.name, key.kind) == ("alice@company.com", "lab", "DevServer")
    assert first[key].seconds <= amounts.seconds <= took + 1
    assert amounts.cost == amounts.seconds * 3_600_000


@pytest.mark.usefixtures("deployed")
def test_a_new_price_starts_a_line_and_clocks_count_nothing(
    server: DevServer, observer: ObserverProcess
) -> None:
    began = time.time()
    server.apply()
    server.wait("Ready")
    wait_until(lambda: is_open(server), "it is counted")
    passed = observer.passed
    # Only what was counted for a whole second has a line.
    observer.pass_time(MINUTE)
    observer.set_clocks(own=86400, server=86400)
    apply_flavor(server.kubectl, server.namespace, resources=SMALL, price={"perGPUHour": 1})

    def has_two() -> bool:
        observer.pass_time(MINUTE)
        return len(lines(server)) == 2

    wait_until(has_two, "the new price is another line")
    observer.set_clocks(own=-86400)
    server.stop()
    wait_until(lambda: not is_open(server), "it is counted no more")
    took = time.time() - began + observer.passed - passed
    assert sum(amounts.seconds for amounts in lines(server).values()) <= took + 1
    assert {key.price.currency for key in lines(server)} == {"EUR", "USD"}


@pytest.mark.usefixtures("deployed")
def test_a_month_ends(server: DevServer, observer: ObserverProcess) -> None:
    now = int(time.time())
    month = month_of(now + HOUR)
    left = start_of(next_month(month)) - now
    # Long enough before the end that the server is ready by then on any machine.
    observer.set_clocks(own=left - HOUR, server=left - HOUR)
    again(observer)
    server.apply()
    server.wait("Ready")
    wait_until(lambda: bool(books(server).get(month, {}).get("open")), "it is counted")
    observer.pass_time(HOUR)
    wait_until(lambda: next_month(month) in books(server), "the month is over")
    observer.pass_time(MINUTE)
    server.stop()
    wait_until(lambda: not books(server)[next_month(month)].get("open"), "it is closed")
    old, new = (books(server)[name] for name in (month, next_month(month)))
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start_of(next_month(month))))
    assert {entry["countedUntil"] for entry in old["open"]} == {end}
    for book in (old, new):
        ((_, amounts),) = map(read_line, book["lines"])
        assert amounts.seconds > 0


def user_with(kubectl: Kubectl, name: str, **budget: Any) -> None:
    """The DevServerUser who owns the tests' servers, with a budget."""
    kubectl.api.apply(
        {
            "apiVersion": "devops.yourcompany.com/v1",
            "kind": "DevServerUser",
            "metadata": {"name": name},
            "spec": {"username": "alice@company.com", "budget": budget},
        }
    )


@pytest.fixture
def person(kubectl: Kubectl, namespace: str) -> Iterator[str]:
    """The name of a user, who is deleted afterwards, with the namespace."""
    name = namespace[-40:].strip("-")
    yield name
    kubectl("delete", "devserveruser", name, "--ignore-not-found")
    kubectl("delete", "namespace", f"dev-{name}", "--ignore-not-found", "--wait=false")


def over(kubectl: Kubectl, name: str) -> tuple[str, str]:
    """The status and message of a user's condition OverBudget."""
    found = kubectl.api.get("devserveruser", name)
    said = find((found or {}).get("status", {}), "OverBudget")
    return said.get("status", ""), said.get("message", "")


def events(kubectl: Kubectl, name: str) -> set[str]:
    """The reasons of the Events about a user, wherever they are."""
    found = json.loads(kubectl("get", "events", "-A", "-o", "json"))["items"]
    return {event["reason"] for event in found if event["involvedObject"]["name"] == name}


@pytest.mark.usefixtures("deployed")
def test_who_has_spent_a_budget_starts_nothing(
    server: DevServer, kubectl: Kubectl, person: str, observer: ObserverProcess
) -> None:
    user_with(kubectl, person, perMonth=0, currency="EUR", refuse=True)
    wait_until(lambda: over(kubectl, person)[0] == "False", "nothing is spent")
    server.apply()
    server.wait("Ready")
    wait_until(lambda: is_open(server), "it is counted")
    # Only whole seconds cost something.
    observer.pass_time(MINUTE)
    server.apply(stopped=True)
    wait_until(lambda: over(kubectl, person)[0] == "True", lambda: str(over(kubectl, person)))
    told = over(kubectl, person)[1]
    assert "too much; nothing starts until" in told

    def refused(**changes: Any) -> str:
        try:
            server.apply(**changes)
        except pytest.fail.Exception as error:
            return str(error)
        return ""

    wait_until(lambda: "too much" in refused(stopped=False), "a start is refused")
    assert f"user `{person}` has spent" in refused(stopped=False)
    # It can be changed and deleted, and another one is created stopped.
    assert refused(stopped=True, image="other") == ""
    wait_until(lambda: "OverBudget" in events(kubectl, person), "an Event tells of it")
    user_with(kubectl, person, perMonth=1000, currency="EUR", refuse=True)
    wait_until(lambda: refused(stopped=False) == "", "it starts again")
