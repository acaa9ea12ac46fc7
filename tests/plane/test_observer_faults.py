"""An observer that is killed or cut off tells what one tells that is left alone."""

from __future__ import annotations

import json
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from support.fault_proxy import Fault, FaultProxy, fault_proxy
from support.plane.parts import ObserverProcess
from support.plane.supervision import Supervision, supervised
from support.servers import DevServer, small_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

# The observer's client waits ten seconds for an answer, and what comes of that is what comes of
# an answer that is lost.
FAULTS = [fault for fault in Fault if fault is not Fault.TOO_LATE]


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


@pytest.fixture(scope="module")
def proxied(
    deployed: Plane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[FaultProxy, Supervision]]:
    """An observer whose requests all go through a proxy, in the place of the plane's own."""
    folder = tmp_path_factory.mktemp("proxy")
    deployed.observer.kill()
    with fault_proxy(deployed.account("devctl-observer"), folder) as proxy:
        # Each is the other's heir: they have the same name.
        observer = ObserverProcess(proxy.kubeconfig, folder)
        with supervised(observer) as supervision:
            yield proxy, supervision
    observer.kill()
    deployed.observer.start()


def named(server: DevServer, name: str) -> DevServer:
    """Another server beside a server."""
    return DevServer(server.kubectl, server.namespace, server.spec, name)


def told(server: DevServer) -> Any:
    """What its status says, with nothing that differs from server to server."""
    status = server.status
    conditions = {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}
    replicas = [(r["pod"], r["phase"], r["reason"]) for r in status["replicaStatuses"]]
    apart = {"conditions", "replicaStatuses", "startedAt", "stoppedAt"}
    rest = {name: value for name, value in status.items() if name not in apart}
    return json.loads(json.dumps([conditions, replicas, rest]).replace(server.name, "NAME"))


def live(server: DevServer) -> list[Any]:
    """A server's life: what is told of it while it runs, and once it is stopped."""
    server.apply(stopped=False)
    server.wait("Ready")
    running = told(server)
    server.stop()
    return [running, told(server)]


def test_one_that_is_killed_after_any_write_is_made_up_for(
    server: DevServer, proxied: tuple[FaultProxy, Supervision]
) -> None:
    proxy, observer = proxied
    proxy.calm_down()
    expected, last, struck = live(named(server, "calm")), 0, True
    while struck:
        last += 1
        one = named(server, f"lab-{last}")
        mine = f"/devservers/{one.name}/status"
        dead = Event()

        def strike(request: str, last: int = last, mine: str = mine, dead: Event = dead) -> None:
            if request.endswith(mine) and sum(r.endswith(mine) for r in proxy.writes) == last:
                dead.set()
                observer.kill()

        proxy.after_write = strike
        assert live(one) == expected, f"killed after its write {last}"
        struck = dead.is_set()
    assert last > 3, "it starts, runs and stops"
    observer.check()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_every_write_changes_nothing_in_the_end(
    server: DevServer, proxied: tuple[FaultProxy, Supervision], fault: Fault
) -> None:
    proxy, observer = proxied
    proxy.calm_down()
    expected = live(named(server, "calm"))
    proxy.fault = fault
    assert live(server) == expected
    proxy.calm_down()
    observer.check()
