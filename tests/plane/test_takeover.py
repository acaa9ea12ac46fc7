"""An operator that dies in the middle of its work: the one that waits ends it in the same way."""

from __future__ import annotations

import json
from threading import Event, Lock
from typing import TYPE_CHECKING

import pytest
from support.fault_proxy import FaultProxy, fault_proxy
from support.plane.beside import FIRST, Beside
from support.plane.plane import SYSTEM
from support.servers import DevServer, content, small_server, wait_until

from devctl.api.labels import DEVSERVER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.plane.parts import OperatorProcess
    from support.plane.plane import Plane

    from devctl.local.images import Image

MANY = 12
OK = 'runs_total{result="ok",role="devserver"}'


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


def named(server: DevServer, name: str) -> DevServer:
    """Another server beside a server."""
    return DevServer(server.kubectl, server.namespace, server.spec, name)


@pytest.fixture
def proxy(operator_away: Plane, tmp_path: Path) -> Iterator[FaultProxy]:
    """Knows what the first operator writes."""
    folder = tmp_path / "proxy"
    folder.mkdir()
    with fault_proxy(operator_away.account("devctl-operator"), folder) as made:
        yield made


@pytest.fixture
def two_operators(
    operator_away: Plane, proxy: FaultProxy, tmp_path: Path
) -> Iterator[tuple[OperatorProcess, ...]]:
    """One that leads, and one that waits."""
    first = operator_away.operator_with(proxy.kubeconfig, "operator-first", place=FIRST)
    first.start()
    kubeconfig = operator_away.account("devctl-operator")
    wait_until(lambda: len(operators(operator_away)) == 1, "it leads")
    beside = Beside(tmp_path / "beside")
    second = operator_away.operator_with(kubeconfig, "operator-second", place=beside.place)
    second.start()
    yield first, second
    for operator in (first, second):
        operator.kill()
    beside.end()
    operator_away.kubectl("delete", "lease", "devctl-operator", "-n", SYSTEM)


def operators(plane: Plane) -> set[str]:
    """Who leads the operators."""
    found = json.loads(plane.kubectl("get", "leases", "-n", SYSTEM, "-o", "json"))["items"]
    held = {lease["metadata"]["name"]: lease["spec"].get("holderIdentity") for lease in found}
    return {held["devctl-operator"]} if held.get("devctl-operator") else set()


def dies_early(proxy: FaultProxy, operator: OperatorProcess, known: str) -> Event:
    """Kill an operator once it has made two StatefulSets besides a known one; what is set then.

    None of its writes is answered meanwhile, so that it makes no more than it has begun.
    """
    died, alone = Event(), Lock()

    def look(_: str) -> None:
        with alone:
            made = {write for write in proxy.writes if "/statefulsets/" in write}
            new = {write for write in made if not write.endswith(f"/{known}")}
            if len(new) >= 2 and not died.is_set():
                operator.kill()
                died.set()

    proxy.after_write = look
    return died


def test_the_second_operator_ends_what_the_first_one_left(
    plane: Plane,
    server: DevServer,
    proxy: FaultProxy,
    two_operators: tuple[OperatorProcess, OperatorProcess],
) -> None:
    first, second = two_operators
    calm, others = named(server, "lab-00"), [named(server, f"lab-{n:02}") for n in range(1, MANY)]
    calm.apply(stopped=True)
    calm.wait("Applied")
    assert second.runs().get(OK, 0) == 0, "it waits"

    def objects(name: str) -> str:
        return json.dumps(content(server, f"{DEVSERVER}={name}")).replace(name, "NAME")

    dead = operators(plane)
    proxy.calm_down()
    died = dies_early(proxy, first, calm.name)
    for other in others:
        other.apply(stopped=True)
    wait_until(died.is_set, "it is killed")
    assert 2 < len(server.get("statefulset")) < MANY

    wait_until(lambda: operators(plane).isdisjoint(dead), "the second one leads")
    for other in others:
        other.wait("Applied")
    expected = objects(calm.name)
    for other in others:
        assert objects(other.name) == expected
    uids = {found["metadata"]["uid"] for found in server.get("devserver")}
    owners = {
        owner["uid"]
        for thing in server.get("statefulset,service,configmap,secret")
        for owner in thing["metadata"].get("ownerReferences", [])
    }
    assert owners == uids
    assert len(content(server)) == len(content(server, f"{DEVSERVER}={calm.name}")) * MANY
    for each in (calm, *others):
        each.settle()
    before = server.versions()
    # The new leader runs the role for those that were there, too.
    wait_until(lambda: second.runs().get(OK, 0) >= MANY, "it has looked at all")
    assert server.versions() == before
