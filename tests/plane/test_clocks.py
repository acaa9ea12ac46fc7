"""The times of servers, over days: the observer's clock and the API server's are set here."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.jobs import moment
from support.plane.plane import SYSTEM
from support.rights import leases
from support.servers import DevServer, small_server, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.parts import ObserverProcess
    from support.plane.plane import Plane

    from devctl.local.images import Image

HOUR, DAY = 3600, 86400
A_MOMENT = 60


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    """A server that lives for a week."""
    week = {"lifecycle": {"timeToLive": "7d"}}
    with small_server(kubectl, namespace, images["base"].reference, **week) as made:
        yield made


def expiring(server: DevServer) -> tuple[str, str]:
    """What its status says of its end: the condition's status and reason."""
    found = server.condition("Expiring")
    return found.get("status", ""), found.get("reason", "")


def wait_expiring(server: DevServer, *wanted: str) -> None:
    """Wait until its status says this of its end."""
    wait_until(lambda: expiring(server) == wanted, lambda: f"{wanted}: {expiring(server)}")


def wait_deleted(server: DevServer) -> None:
    """Wait until it is gone, with its pods."""
    wait_until(lambda: not server.get("devserver", server.name), "it is deleted")
    wait_until(lambda: not server.get("pod"), "its pods are gone")


def test_a_server_goes_after_its_week_and_its_home_stays(
    server: DevServer, observer: ObserverProcess, kubectl: Kubectl
) -> None:
    server.apply()
    server.wait("Ready")
    created = moment(server.get("devserver", server.name)[0]["metadata"]["creationTimestamp"])
    assert moment(server.status["expiresAt"]) - created == timedelta(days=7)
    home = server.uids("pvc")
    assert home
    observer.set_clocks(own=7 * DAY - HOUR - A_MOMENT, server=7 * DAY - HOUR - A_MOMENT)
    assert expiring(server) == ("False", "TimeToLive")
    observer.set_clocks(own=7 * DAY - HOUR + A_MOMENT, server=7 * DAY - HOUR + A_MOMENT)
    wait_expiring(server, "True", "Soon")
    assert server.condition("Ready")["status"] == "True"
    observer.set_clocks(own=7 * DAY + A_MOMENT, server=7 * DAY + A_MOMENT)
    wait_deleted(server)
    assert server.uids("pvc") == home
    told = ("get", "events", "-n", server.namespace, "-o", "json")
    selector = "--field-selector=involvedObject.kind=DevServer,reason=Expired"
    wait_until(
        lambda: (
            [each["type"] for each in json.loads(kubectl(*told, selector))["items"]] == ["Normal"]
        ),
        "an Event tells of it",
    )


def test_one_clock_alone_deletes_no_server(server: DevServer, observer: ObserverProcess) -> None:
    server.apply(stopped=True)
    wait_expiring(server, "False", "TimeToLive")
    observer.set_clocks(own=8 * DAY)
    wait_expiring(server, "True", "Soon")
    # By way of clocks that are right: a look that has begun with one of the two asks for the other.
    observer.set_clocks()
    wait_expiring(server, "False", "TimeToLive")
    observer.set_clocks(server=8 * DAY)
    observer.set_clocks(own=-DAY, server=8 * DAY)
    wait_expiring(server, "Unknown", "ClockNotTrusted")
    assert "expiresAt" not in server.status
    uid = server.uids("devserver")
    observer.set_clocks(own=6 * DAY, server=8 * DAY)
    wait_expiring(server, "False", "TimeToLive")
    assert server.uids("devserver") == uid
    observer.set_clocks(own=8 * DAY, server=8 * DAY)
    wait_expiring(server, "True", "Soon")
    assert server.uids("devserver") == uid, "a time that is over at once leaves the notice"
    observer.set_clocks(own=8 * DAY + HOUR, server=8 * DAY + HOUR)
    wait_deleted(server)


def test_who_takes_the_time_away_keeps_the_server(
    server: DevServer, observer: ObserverProcess
) -> None:
    server.apply(stopped=True)
    wait_expiring(server, "False", "TimeToLive")
    observer.set_clocks(own=7 * DAY - A_MOMENT, server=7 * DAY - A_MOMENT)
    wait_expiring(server, "True", "Soon")
    server.apply(lifecycle={"timeToLive": "30d"})
    wait_expiring(server, "False", "TimeToLive")
    observer.set_clocks(own=8 * DAY, server=8 * DAY)
    server.apply(lifecycle=None)
    wait_expiring(server, "", "")
    observer.set_clocks(own=99 * DAY, server=99 * DAY)
    # Whoever has a minute goes by then.
    server.name = "brief"
    server.apply(lifecycle={"timeToLive": "1m"})
    wait_deleted(server)
    server.name = "lab"
    assert server.get("devserver", server.name)


def test_a_week_that_passes_at_once_costs_nobody_the_lease(
    observer: ObserverProcess, deployed: Plane, server: DevServer
) -> None:
    before = observer.identity
    server.apply(stopped=True, lifecycle={"timeToLive": "30d"})
    for days, reason in ((7, "TimeToLive"), (-7, "ClockNotTrusted"), (7, "TimeToLive")):
        observer.set_clocks(own=days * DAY, server=days * DAY)
        wait_until(lambda said=reason: expiring(server)[1] == said, f"{reason} is told")  # type: ignore[misc]
    assert observer.is_running
    assert observer.identity == before
    assert before in leases(deployed.kubectl, SYSTEM)
