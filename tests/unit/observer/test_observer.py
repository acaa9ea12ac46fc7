"""Which objects a change concerns."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from devctl_observer.kinds.flavors.placed_pods import asked
from devctl_observer.watching.kept import node_facts, small_pod
from devctl_observer.watching.store import Key
from lightkube.resources.core_v1 import Event

from devctl.api.labels import DEVSERVER
from unit.observer.objects import asks, claim, flavor, node, placed, pod, server, warning
from unit.observer.running import flavors_of, idle_observer, servers_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_observer.observer import Observer


MINE = Key("dev-alice", "my-dev")
NAMELESS = Key("dev-alice", "nameless")


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], None]], set[str]]:
    """The names of the servers and flavors that a change has reconciled."""

    def play(change: Callable[[Any], None]) -> set[str]:
        async def run() -> set[str]:
            one = idle_observer()
            flavors, servers = flavors_of(one), servers_of(one)
            found: set[str] = set()
            monkeypatch.setattr(servers.queue, "add", lambda key: found.add(key.name))
            monkeypatch.setattr(flavors.queue, "add", lambda key: found.add(f"flavor {key.name}"))
            servers.store.put(MINE, 1, server())
            servers.store.put(NAMELESS, 1, server(meta={"name": "nameless"}, flavor=None))
            for name in ("cpu-small", "gpu"):
                flavors.store.put(Key("", name), 1, flavor(name))
            one.children.pods.put(Key("dev-alice", "my-dev-0"), 1, labelled())
            change(one)
            for _ in range(3):  # paced actions run in the loop's next iteration or two
                await asyncio.sleep(0)
            return found

        return asyncio.run(run())

    return play


def labelled() -> Any:
    found = pod()
    assert found.metadata
    found.metadata.labels = {DEVSERVER: "my-dev"}
    return found


def home() -> Any:
    found = claim("Bound")
    assert found.metadata
    found.metadata.labels, found.metadata.uid = {DEVSERVER: "my-dev"}, "c-0"
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
        # Only its status has changed.
        (flavor(), flavor(), {"flavor cpu-small"}),
        # Another flavor concerns servers that name none.
        (None, flavor("gpu", default=True), {"nameless"} | FLAVORS),
        (None, None, set()),
    ],
)
def test_a_flavor(looked_at: Any, old: Any, new: Any, expected: set[str]) -> None:
    assert looked_at(lambda one: flavors_of(one).changed(old, new)) == expected


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

    def change(one: Observer) -> None:
        (followed,) = flavors_of(one).others
        for _ in range(100):
            followed.changed(None, asked(placed(containers=[asks(cpu="1")])))
        followed.changed(asked(placed(containers=[asks(cpu="1")])), None)
        kept.append(flavors_of(one).use.of("node-a"))

    assert looked_at(change) == FLAVORS
    assert kept == [{"cpu": 99, "pods": 99}]


def test_a_server_a_child_and_a_warning(looked_at: Any) -> None:
    said = warning("Pod", "my-dev-0", "FailedMount", "x")
    assert looked_at(lambda one: servers_of(one).changed(None, server())) == {"my-dev"}
    assert looked_at(lambda one: servers_of(one).changed(server(), None)) == {"my-dev"}
    assert looked_at(lambda one: one.child(labelled(), None)) == {"my-dev"}
    assert looked_at(lambda one: one.child(None, pod())) == set()
    assert looked_at(lambda one: one.warning(None, said)) == {"my-dev"}
    assert looked_at(lambda one: one.warning(said, None)) == {"my-dev"}


def test_what_is_gone_is_remembered_and_a_clock_that_was_set_concerns_all(looked_at: Any) -> None:
    assert looked_at(lambda one: one.child(home(), None)) == {"my-dev"}
    assert looked_at(lambda one: one.look_again()) == BOTH | FLAVORS
    kept: list[dict[Key, str]] = []

    def lose(one: Observer) -> None:
        one.child(home(), None)
        one.child(labelled(), None)
        kept.append(dict(servers_of(one).controller.gone))

    looked_at(lose)
    assert kept == [{MINE: "c-0"}]


def test_nothing_is_remembered_of_a_server_that_is_gone(looked_at: Any) -> None:
    """Its children are deleted after it."""
    kept: list[dict[Key, str]] = []

    def go(one: Observer) -> None:
        one.child(home(), None)
        servers_of(one).store.drop(MINE)
        servers_of(one).changed(server(), None)
        one.child(home(), None)
        with contextlib.suppress(StopIteration):
            servers_of(one).controller.look(MINE).send(None)
        kept.append(servers_of(one).controller.gone)

    assert looked_at(go) == {"my-dev"}
    assert kept == [{}]


def test_whether_a_flavor_fits_concerns_its_servers(looked_at: Any) -> None:
    """A waiting server's message depends on the flavor's status."""

    class Api:
        async def apply_status(self, _kind: Any, meta: Any, status: Any) -> Any:
            metadata = msgspec.to_builtins(meta) | {"resourceVersion": "9"}
            return {"metadata": metadata, "spec": {}, "status": status}

    def change(one: Observer) -> None:
        flavors_of(one).controller._api = Api()  # type: ignore[assignment]  # noqa: SLF001
        for version in (1, 2):
            one.children.nodes.put(Key("", "node-a"), version, node_facts(node()))
            with contextlib.suppress(StopIteration):
                flavors_of(one).controller.look(Key("", "cpu-small")).send(None)

    assert looked_at(change) == {"my-dev", "nameless"}


def test_a_warning_about_nothing_of_ours_is_not_kept() -> None:
    one = idle_observer()
    servers_of(one).store.put(MINE, 1, server())
    (followed,) = [each for each in one.shared if each.kind is Event]
    assert followed.keep(warning("Pod", "my-dev-0", "FailedMount", "x"))
    assert followed.keep(warning("StatefulSet", "my-dev", "FailedCreate", "x"))
    assert not followed.keep(warning("Pod", "other-0", "FailedMount", "x"))
    assert not followed.keep(warning("ReplicaSet", "my-dev", "FailedCreate", "x"))


def test_what_is_kept_of_a_pod_is_enough_and_no_more() -> None:
    whole = pod(ready=True)
    small = small_pod(whole)
    assert small.spec
    assert (small.spec.containers, small.spec.affinity) == ([], None)
    assert (small.spec.nodeName, bool(small.spec.volumes)) == ("node-a", True)
    assert small_pod(type(whole)()).spec is None
