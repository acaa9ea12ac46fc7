"""How long servers may run, and how long they may be stopped; the clocks are set here."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.idle import ACTIVITY, node_of, uid_of
from support.jobs import moment
from support.servers import DevServer, small_server, wait_until

from devctl.api.labels import STOPPED_BY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.parts import ObserverProcess

    from devctl.local.images import Image

HOUR, DAY = 3600, 86400
A_MOMENT = 60


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    """A server without limits, not made yet."""
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


def wait_said(server: DevServer, kind: str, status: str, reason: str) -> None:
    """Wait until a condition of its status says this."""

    def said() -> tuple[str, str]:
        found = server.condition(kind)
        return found.get("status", ""), found.get("reason", "")

    wait_until(lambda: said() == (status, reason), lambda: f"{kind} {status} {reason}: {said()}")


def events(server: DevServer) -> dict[str, str]:
    """Its Events: the type of each reason."""
    found = server.kubectl.api.list("event", server.namespace)
    own = [event for event in found if event["involvedObject"]["name"] == server.name]
    return {event["reason"]: event["type"] for event in own}


def notice(server: DevServer) -> str:
    """What is shown on its terminals."""
    found = server.kubectl.api.get(ACTIVITY, node_of(server)) or {}
    pods, uid = found.get("spec", {}).get("pods", []), uid_of(server)
    return "".join(pod.get("notice", "") for pod in pods if pod["uid"] == uid)


def is_there(server: DevServer) -> bool:
    return bool(server.get("devserver", server.name))


def stop(server: DevServer, *, stopped: bool = True) -> None:
    server.kubectl.api.patch(
        "devserver", server.name, {"spec": {"stopped": stopped}}, server.namespace
    )


# Servers that are stopped.


def test_a_server_goes_once_it_has_been_stopped_for_a_week(
    server: DevServer, observer: ObserverProcess
) -> None:
    server.apply(lifecycle={"deleteAfterStopped": "7d"})
    server.wait("Ready")
    wait_said(server, "Expiring", "False", "NotStopped")
    home = server.uids("pvc")
    observer.set_clocks(own=30 * DAY, server=30 * DAY)
    stop(server)
    wait_said(server, "Expiring", "False", "DeleteAfterStopped")
    since = moment(server.status["stoppedAt"])
    assert server.status["phase"] == "Stopped"
    assert moment(server.status["expiresAt"]) - since == timedelta(days=7)
    # A start ends it, and another stop begins anew.
    observer.set_clocks(own=36 * DAY, server=36 * DAY)
    stop(server, stopped=False)
    server.wait("Ready")
    wait_said(server, "Expiring", "False", "NotStopped")
    assert "stoppedAt" not in server.status
    stop(server)
    wait_said(server, "Expiring", "False", "DeleteAfterStopped")
    assert moment(server.status["stoppedAt"]) - since >= timedelta(days=6)
    observer.set_clocks(own=43 * DAY - A_MOMENT, server=43 * DAY - A_MOMENT)
    wait_said(server, "Expiring", "True", "Soon")
    assert is_there(server)
    observer.set_clocks(own=43 * DAY + HOUR, server=43 * DAY + HOUR)
    wait_until(lambda: not is_there(server), "it is deleted")
    assert server.uids("pvc") == home
    told = {"Expiring": "Warning", "Expired": "Normal"}
    wait_until(lambda: told.items() <= events(server).items(), "Events tell of it")


def test_the_time_of_a_stop_outlives_the_observer(
    server: DevServer, observer: ObserverProcess
) -> None:
    server.apply(stopped=True, lifecycle={"deleteAfterStopped": "7d"})
    wait_said(server, "Expiring", "False", "DeleteAfterStopped")
    since = server.status["stoppedAt"]
    observer.kill()
    observer.start()
    observer.set_clocks(own=6 * DAY, server=6 * DAY)
    server.apply(stopped=True, lifecycle={"deleteAfterStopped": "8d"})

    def left() -> timedelta:
        return moment(server.status["expiresAt"]) - moment(since)

    wait_until(lambda: left() == timedelta(days=8), "it is told")
    assert server.status["stoppedAt"] == since
    # It is started and stopped while nobody looks: the observer cannot know how long it ran.
    observer.kill()
    stop(server, stopped=False)
    stop(server)
    observer.start()
    wait_until(lambda: server.status["stoppedAt"] != since, "it counts anew")


def test_one_clock_alone_deletes_no_stopped_server(
    server: DevServer, observer: ObserverProcess
) -> None:
    server.apply(stopped=True, lifecycle={"deleteAfterStopped": "7d"})
    wait_said(server, "Expiring", "False", "DeleteAfterStopped")
    observer.set_clocks(own=9 * DAY)
    wait_said(server, "Expiring", "True", "Soon")
    observer.set_clocks()
    wait_said(server, "Expiring", "False", "DeleteAfterStopped")
    observer.set_clocks(own=-DAY, server=9 * DAY)
    wait_said(server, "Expiring", "Unknown", "ClockNotTrusted")
    assert is_there(server)
    observer.set_clocks()
    wait_said(server, "Expiring", "False", "DeleteAfterStopped")


# Servers that run.


def test_a_run_ends_after_a_day_even_if_it_is_held(
    server: DevServer, observer: ObserverProcess
) -> None:
    hold = "2099-01-01T00:00:00Z"
    server.apply(lifecycle={"maxRuntime": "1d", "holdUntil": hold})
    server.wait("Ready")
    wait_said(server, "RuntimeEnding", "False", "MaxRuntime")
    begun, home = server.status["startedAt"], server.uids("pvc")
    assert moment(server.status["runEndsAt"]) - moment(begun) == timedelta(days=1)
    observer.kill()
    observer.start()
    observer.set_clocks(own=DAY - HOUR + A_MOMENT, server=DAY - HOUR + A_MOMENT)
    wait_said(server, "RuntimeEnding", "True", "MaxRuntimeSoon")
    wait_until(lambda: events(server).get("MaxRuntimeSoon") == "Warning", "an Event warns")
    assert server.status["startedAt"] == begun
    wait_until(lambda: "because it has run for 1d" in notice(server), "its terminals are told")
    assert server.condition("Ready")["status"] == "True"
    observer.set_clocks(own=DAY + A_MOMENT, server=DAY + A_MOMENT)
    server.follow(lambda found: found["status"]["phase"] == "Stopped", "it is stopped")
    said = server.condition("Ready")
    assert said["reason"] == "MaxRuntime"
    for part in ("after it had run for 1d", "files are kept", "`devctl start"):
        assert part in said["message"]
    assert server.uids("pvc") == home
    # The next run has a day of its own.
    observer.set_clocks()
    stop(server, stopped=False)
    server.wait("Ready")
    wait_said(server, "RuntimeEnding", "False", "MaxRuntime")
    assert moment(server.status["startedAt"]) > moment(begun)

    def notes() -> dict[str, str]:
        found: dict[str, str] = server.get("devserver", server.name)[0]["metadata"].get(
            "annotations", {}
        )
        return found

    wait_until(lambda: STOPPED_BY not in notes(), "the reason is history")


def test_one_clock_alone_ends_no_run_and_more_time_is_given(
    server: DevServer, observer: ObserverProcess
) -> None:
    server.apply(lifecycle={"maxRuntime": "1d"})
    server.wait("Ready")
    wait_said(server, "RuntimeEnding", "False", "MaxRuntime")
    begun = server.status["startedAt"]
    observer.set_clocks(own=2 * DAY)
    wait_said(server, "RuntimeEnding", "True", "MaxRuntimeSoon")
    observer.set_clocks(own=2 * DAY + 2 * HOUR)
    wait_said(server, "RuntimeEnding", "True", "MaxRuntimeSoon")
    observer.set_clocks()
    wait_said(server, "RuntimeEnding", "False", "MaxRuntime")
    observer.set_clocks(own=-DAY)
    wait_said(server, "RuntimeEnding", "Unknown", "ClockNotTrusted")
    observer.set_clocks(own=DAY - A_MOMENT, server=DAY - A_MOMENT)
    wait_said(server, "RuntimeEnding", "True", "MaxRuntimeSoon")
    wait_until(lambda: notice(server) != "", "its terminals are told")
    server.apply(lifecycle={"maxRuntime": "3d"})
    wait_said(server, "RuntimeEnding", "False", "MaxRuntime")
    wait_until(lambda: notice(server) == "", "that is over")
    observer.set_clocks(own=2 * DAY, server=2 * DAY)
    assert server.condition("Ready")["status"] == "True"
    assert server.status["startedAt"] == begun
