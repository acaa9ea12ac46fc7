"""Two observers at once: one works, and one that was frozen while it led does no harm."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from support.plane.parts import OBSERVER_PORT, ObserverProcess
from support.plane.plane import SYSTEM
from support.plane.process import Process
from support.servers import DevServer, small_server, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

WRITES = 'status_writes_total{kind="devserver"}'


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


@pytest.fixture
def second(deployed: Plane) -> Iterator[ObserverProcess]:
    """Another observer, as a pod of its own; the plane's own leads again afterwards."""
    made = ObserverProcess(
        deployed.account("devctl-observer"), deployed.folder, "observer-second", 6794
    )
    made.start()
    yield made
    made.stop()
    wait_until(lambda: leader(deployed).startswith("observer_"), "the plane's own leads")


@pytest.fixture
def without_rights(deployed: Plane) -> Iterator[ObserverProcess]:
    """The plane's own observer, which may do nothing but lead."""
    api, kind = deployed.kubectl.api, "clusterrolebinding"
    found = [one for one in api.list(kind) if one["metadata"]["name"].startswith("devctl-observer")]
    deployed.observer.stop()
    for binding in found:
        api.delete(kind, binding["metadata"]["name"])
    yield deployed.observer
    deployed.observer.stop()
    for binding in found:
        api.apply(binding | {"metadata": {"name": binding["metadata"]["name"]}})
    deployed.observer.start()


def leader(plane: Plane) -> str:
    """Who leads the observers."""
    found = plane.kubectl("get", "lease", "devctl-observer", "-n", SYSTEM, "-o", "json")
    return str(json.loads(found)["spec"]["holderIdentity"])


def events(server: DevServer) -> list[tuple[str, str]]:
    """What Events have told of servers, in order."""
    found = server.kubectl.api.list(
        "events", server.namespace, fields="involvedObject.kind=DevServer"
    )
    found.sort(key=lambda event: str(event["metadata"]["creationTimestamp"]))
    return [(event["reason"], event["message"]) for event in found]


def test_one_that_was_frozen_while_it_led_resumes_and_does_no_harm(
    server: DevServer, second: ObserverProcess, deployed: Plane
) -> None:
    first = deployed.observer
    server.apply()
    server.wait("Ready")
    assert leader(deployed).startswith("observer_")
    assert WRITES not in second.figures() or second.figures()[WRITES] == 0, "it only waits"

    losses = first.expected_ends
    first.freeze()
    try:
        wait_until(lambda: leader(deployed).startswith("observer-second_"), "another one leads")
        server.stop()
        stopped = server.get("devserver", "lab")[0]
        server.start(mode="distributed", distributed={"worldSize": 2})
        server.settle()
        # Events follow the status that they tell of.
        wait_until(lambda: ("Running", "2 of 2 replicas ready") in events(server), "it is told")
        writes = -1.0

        def counted() -> bool:
            nonlocal writes
            before, writes = writes, second.figures()[WRITES]
            return before == writes

        # What is written is counted once it was answered.
        wait_until(counted, "all that was written has been counted")
        before, said = server.get("devserver", "lab")[0], events(server)
    finally:
        first.thaw()
    # What it had watched, it hears of now; its lease is somebody else's.
    wait_until(lambda: first.expected_ends > losses, first.tail)
    assert leader(deployed).startswith("observer-second_")
    assert server.get("devserver", "lab")[0] == before != stopped
    assert events(server) == said
    assert second.figures()[WRITES] == writes


def test_one_that_may_not_read_is_alive_and_says_what_it_lacks(
    without_rights: ObserverProcess,
) -> None:
    """A rollout fails then, and its log says why."""
    Process.start(without_rights)
    lacks = 'cannot list resource "devservers"'
    without_rights.await_so(lambda: lacks in problems(), "it says what it lacks")
    without_rights.await_so(
        lambda: "WARNING DevServer: ApiError('devservers" in without_rights.tail(), "it warns"
    )


def problems() -> str:
    """What the plane's own observer says that it lacks; empty where it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{OBSERVER_PORT}/readyz", timeout=5):
            return ""
    except urllib.error.HTTPError as error:
        return error.read().decode()
    except OSError:
        return ""
