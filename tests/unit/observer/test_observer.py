"""Whom a change concerns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from devctl_observer import kinds, observer
from devctl_observer.children import Children
from devctl_observer.flavor_fit import node_facts
from devctl_observer.observer import Observer
from devctl_observer.placed_pods import asked
from devctl_observer.servers import Servers
from devctl_observer.store import Key

from devctl.api.labels import DEVSERVER
from unit.observer.objects import asks, flavor, node, placed, pod, server, warning

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_observer.cluster_api import ClusterApi
    from lightkube import AsyncClient

MINE = Key("dev-alice", "my-dev")
NAMELESS = Key("dev-alice", "nameless")


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], None]], set[str]]:
    """The names of the servers and flavors that a change makes the observer look at."""

    def play(change: Callable[[Any], None]) -> set[str]:
        async def run() -> set[str]:
            one = Servers(Children(), cast("ClusterApi", None))
            found: set[str] = set()
            monkeypatch.setattr(one.servers, "add", lambda key: found.add(key.name))
            monkeypatch.setattr(one.flavors, "add", lambda key: found.add(f"flavor {key.name}"))
            one.caches.servers.put(MINE, 1, server())
            one.caches.servers.put(NAMELESS, 1, server(meta={"name": "nameless"}, flavor=None))
            for name in ("cpu-small", "gpu"):
                one.caches.flavors.put(Key("", name), 1, flavor(name))
            one.caches.pods.put(Key("dev-alice", "my-dev-0"), 1, labelled())
            change(one)
            await asyncio.sleep(0.01)  # what is paced is done in the loop's next turn
            return found

        return asyncio.run(run())

    return play


def labelled() -> Any:
    found = pod()
    assert found.metadata
    found.metadata.labels = {DEVSERVER: "my-dev"}
    return found


def recreated() -> Any:
    meta = msgspec.structs.replace(flavor().metadata, uid="another")
    return msgspec.structs.replace(flavor(), metadata=meta)


BOTH = {"my-dev", "nameless"}
FLAVORS = {"flavor cpu-small", "flavor gpu"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, flavor(), BOTH | FLAVORS),
        (flavor(), None, BOTH | FLAVORS),
        (flavor(), flavor(generation=2), BOTH | {"flavor cpu-small"}),
        (flavor(), flavor(generation=2, default=True), BOTH | FLAVORS),
        (flavor(), recreated(), BOTH | {"flavor cpu-small"}),
        # Its status alone.
        (flavor(), flavor(), {"flavor cpu-small"}),
        # Another one decides about who names none.
        (None, flavor("gpu", default=True), {"nameless"} | FLAVORS),
        (None, None, set()),
    ],
)
def test_a_flavor(looked_at: Any, old: Any, new: Any, expected: set[str]) -> None:
    assert looked_at(lambda one: one._flavor(old, new)) == expected  # noqa: SLF001


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (node_facts(node()), node_facts(node(ready="False")), {"my-dev"} | FLAVORS),
        (node_facts(node()), None, {"my-dev"} | FLAVORS),
        (None, node_facts(node("other")), FLAVORS),
        (node_facts(node()), node_facts(node(cordoned=True)), FLAVORS),
    ],
)
def test_a_node(looked_at: Any, old: Any, new: Any, expected: set[str]) -> None:
    assert looked_at(lambda one: one.node(old, new)) == expected


def test_what_takes_room_concerns_every_flavor_and_no_server(looked_at: Any) -> None:
    kept: list[Any] = []

    def change(one: Servers) -> None:
        (followed,) = [each for each in one.others if each.convert is asked]
        for _ in range(100):
            followed.changed(None, asked(placed(containers=[asks(cpu="1")])))
        followed.changed(asked(placed(containers=[asks(cpu="1")])), None)
        kept.append(one.caches.use.of("node-a"))

    assert looked_at(change) == FLAVORS
    assert kept == [{"cpu": 99, "pods": 99}]


def test_a_server_a_child_and_a_warning(looked_at: Any) -> None:
    said = warning("Pod", "my-dev-0", "FailedMount", "x")
    assert looked_at(lambda one: one._server(None, server())) == {"my-dev"}  # noqa: SLF001
    assert looked_at(lambda one: one._server(server(), None)) == set()  # noqa: SLF001
    assert looked_at(lambda one: one.pod(labelled(), None)) == {"my-dev"}
    assert looked_at(lambda one: one.pod(None, pod())) == set()
    assert looked_at(lambda one: one.warning(None, said)) == {"my-dev"}
    assert looked_at(lambda one: one.warning(said, None)) == {"my-dev"}


def test_what_is_gone_is_remembered_and_a_clock_that_was_set_concerns_all(looked_at: Any) -> None:
    assert looked_at(lambda one: one.claim(labelled(), None)) == {"my-dev"}
    assert looked_at(lambda one: one.look_again()) == BOTH
    kept: list[dict[Key, str]] = []

    def lose(one: Servers) -> None:
        one.claim(labelled(), None)
        one.claim(pod(), None)
        kept.append(dict(one.caches.gone))

    looked_at(lose)
    assert kept == [{MINE: "p-0"}]


def test_every_family_hears_of_what_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "ClusterApi", lambda *_: None)
    told: list[str] = []

    class Listener:
        first = others = queues = ()

        def __getattr__(self, name: str) -> Any:
            return lambda *_: told.append(name)

    one = Observer(cast("AsyncClient", None), bool)
    one.families = [cast("Any", Listener()), cast("Any", Listener())]
    for followed in one._shared():  # noqa: SLF001
        followed.changed(None, None)
    one._look_again()  # noqa: SLF001
    names = ("node", "pod", "claim", "warning", "look_again")
    assert told == [name for name in names for _ in range(2)]


def test_what_is_kept_of_a_pod_is_enough_and_no_more() -> None:
    whole = pod(ready=True)
    small = kinds.small_pod(whole)
    assert small.spec
    assert (small.spec.containers, small.spec.affinity) == ([], None)
    assert (small.spec.nodeName, bool(small.spec.volumes)) == ("node-a", True)
    assert kinds.small_pod(type(whole)()).spec is None
