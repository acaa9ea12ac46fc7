"""Idle servers: what stops them, what keeps them, and what is said about both."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.idle import ACTIVITY, Agents, is_stopped, node_of, uid_of, wait_watched
from support.plane.content import NODES
from support.plane.plane import SYSTEM
from support.rights import leases
from support.servers import SMALL, TWO_RANKS, DevServer, apply_flavor, small_server, wait_until

from devctl.api.conditions import find
from devctl.api.labels import STOPPED_BY, STOPPED_BY_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl
    from support.plane.parts import ObserverProcess
    from support.plane.plane import Plane

    from devctl.local.images import Image

    Make = Callable[..., DevServer]

pytestmark = pytest.mark.usefixtures("deployed")

HERE, THERE = NODES
DAY = 86400
LIFE = {"idleTimeout": "60s", "autoShutdown": True}
TOMORROW = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def make(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[Make]:
    """Makes servers on a node, which are stopped when they are idle for a minute."""
    flavors = {
        node: apply_flavor(
            kubectl,
            f"{namespace}-{node}",
            resources=SMALL,
            nodeSelector={"kubernetes.io/hostname": node},
        )
        for node in NODES
    }
    with small_server(kubectl, namespace, images["base"].reference) as common:

        def made(name: str, node: str = HERE, **spec: Any) -> DevServer:
            own = common.spec | {"flavor": flavors[node], "lifecycle": LIFE} | spec
            server = DevServer(kubectl, namespace, own, name)
            server.apply()
            return server

        yield made
    for flavor in flavors.values():
        kubectl("delete", "devserverflavor", flavor, "--ignore-not-found")


@pytest.fixture
def agents(kubectl: Kubectl, observer: ObserverProcess) -> Agents:
    return Agents(kubectl.api, observer=observer)


def idle(server: DevServer) -> tuple[str, str]:
    """The status and reason of its condition Idle."""
    said = server.condition("Idle")
    return said.get("status", ""), said.get("reason", "")


def events(server: DevServer) -> dict[str, str]:
    """Its Events: the message of each reason."""
    found = server.kubectl.api.list("event", server.namespace)
    own = [event for event in found if event["involvedObject"]["name"] == server.name]
    return {event["reason"]: event["message"] for event in own}


def notice(agents: Agents, uid: str) -> str:
    """What the agents are told to show on a pod's terminals."""
    pods = (agents.api.get(ACTIVITY, HERE) or {}).get("spec", {}).get("pods", [])
    return "".join(pod.get("notice", "") for pod in pods if pod["uid"] == uid)


def notes(server: DevServer) -> dict[str, str]:
    found: dict[str, str] = server.get("devserver", server.name)[0]["metadata"].get(
        "annotations", {}
    )
    return found


def test_an_idle_server_is_warned_stopped_and_started_again(make: Make, agents: Agents) -> None:
    server = make("lab")
    server.wait("Ready")
    homes, uid = server.uids("pvc"), uid_of(server)
    wait_watched(agents.api, HERE, uid, 45, 60)
    agents.idle[uid] = lambda: 3
    agents.report_until(lambda: idle(server) == ("False", "Active"), "it is active", HERE)
    assert server.status["lastActivity"].endswith(": python (pid 7)")
    agents.quiet(server, 46)
    agents.report_until(lambda: idle(server)[1] == "IdleSoon", "a warning", HERE)
    warned = server.status["idle"]
    assert {"since", "warnedAt", "stopsAt", "signals", "verdicts"} <= set(warned)
    wait_until(lambda: "IdleSoon" in events(server), "an Event warns")
    assert warned["stopsAt"] in events(server)["IdleSoon"]
    wait_until(lambda: "lab has been idle for" in notice(agents, uid), "its terminals are told")
    agents.let_pass(lambda: is_stopped(server), "it is stopped", HERE)
    server.follow(lambda found: found["status"]["phase"] == "Stopped", "its pods are gone")
    assert server.uids("pvc") == homes
    said = server.condition("Ready")
    assert said["reason"] == "IdleStopped"
    for part in ("after 60s without activity", "files are kept", "`devctl start lab`"):
        assert part in said["message"]
    assert notes(server)[STOPPED_BY] == "IdleStopped"
    assert server.status["idle"]["verdicts"][-1]["message"] == notes(server)[STOPPED_BY_MESSAGE]
    wait_until(lambda: "IdleStopped" in events(server), "an Event says so")
    wait_watched(agents.api, HERE, uid)
    # The reason outlasts changes of the stopped server.
    server.apply(lifecycle=LIFE | {"idleTimeout": "61s"})
    server.wait("Idle", "False")
    assert server.condition("Ready")["reason"] == "IdleStopped"
    start = {"spec": {"stopped": False}}
    agents.api.patch("devserver", server.name, start, server.namespace)
    server.wait("Ready")
    wait_until(lambda: STOPPED_BY not in notes(server), "the reason is history")
    # The report on the pod before says nothing about this one.
    agents.report(HERE)
    wait_until(lambda: idle(server) == ("Unknown", "NoReport"), "its window begins anew")
    agents.quiet(server, 5)
    agents.report_until(lambda: idle(server) == ("False", "Active"), "it is active", HERE)
    verdicts = [entry["verdict"] for entry in server.status["idle"]["verdicts"]]
    assert verdicts == ["Active", "IdleSoon", "IdleStopped", "Active"]


def test_what_keeps_a_server(make: Make, agents: Agents, observer: ObserverProcess) -> None:
    control = make("control")
    ranks = make("ranks", **TWO_RANKS)
    unread, held = make("unread"), make("held", lifecycle=LIFE | {"holdUntil": TOMORROW})
    asked = make("asked", lifecycle={"idleTimeout": "60s"})
    stale, foreign = make("stale", THERE), make("foreign", THERE)
    kept = (ranks, unread, held, asked, stale, foreign)
    for server in (control, *kept):
        server.wait("Ready")
    agents.quiet(stale, 46)
    agents.report_until(lambda: idle(stale)[1] == "IdleSoon", "a warning", THERE)
    for server in (control, held, asked, ranks):
        agents.quiet(server)
    agents.idle[uid_of(ranks, 1)] = lambda: 3
    agents.unknown[agents.quiet(unread)] = "Process"
    # Its pod is on another node than the one that reports on it.
    agents.quiet(foreign)
    agents.report_until(lambda: idle(control)[1] == "IdleSoon", "another one", HERE)
    # The time of `stale` is over without another look.
    observer.pass_time(60 - 46 + 5)
    agents.report_until(lambda: is_stopped(control), "the idle one is stopped", HERE)
    control.follow(lambda found: found["status"]["phase"] == "Stopped", "its pods are gone")
    late = ("False", "IdleSoon")
    assert not any(is_stopped(server) for server in kept)
    assert {server.name: idle(server) for server in kept} == {
        "ranks": ("False", "Active"),
        "unread": ("Unknown", "SignalUnknown"),
        "held": ("True", "Held"),
        "asked": ("True", "Idle"),
        "stale": late,
        "foreign": ("Unknown", "NoReport"),
    }
    assert ranks.status["lastActivity"].startswith("Terminal in replica 1")
    said = unread.condition("Idle")["message"]
    assert said.startswith(f"signal Process of its pod on node `{HERE}` cannot be read (cgroup")
    assert find(unread.status, "Ready")["status"] == "True"
    assert TOMORROW in held.condition("Idle")["message"]
    assert "autoShutdown is not set" in asked.condition("Idle")["message"]
    # Whose hold is over has been warned for long enough by then.
    held.apply(lifecycle=LIFE)
    agents.let_pass(lambda: is_stopped(held), "it is held no longer", HERE)
    wait_until(lambda: "IdleSoon" in events(held), "an Event has warned")


def test_a_probe_keeps_a_server_until_it_is_idle_as_well(make: Make, agents: Agents) -> None:
    probe = {"activityProbe": {"exec": {"command": ["busy"]}}}
    control, server = make("control"), make("asked", lifecycle=LIFE | probe)
    for one in (control, server):
        one.wait("Ready")
        agents.quiet(one)
    uid = uid_of(server)
    agents.let_pass(lambda: is_stopped(control), "the other one is stopped", HERE)
    assert idle(server) == ("Unknown", "SignalUnknown")
    said = server.condition("Idle")["message"]
    assert said.startswith(
        f"signal Probe of its pod on node `{HERE}` cannot be read (not reported)"
    )
    agents.probes[uid] = lambda: 3
    agents.report_until(lambda: idle(server) == ("False", "Active"), "its probe is active", HERE)
    assert server.status["lastActivity"].startswith("Probe")
    assert not is_stopped(server)
    agents.probes[uid] = agents.idle[uid]
    agents.let_pass(lambda: is_stopped(server), "its probe is idle", HERE)


def test_a_new_observer_waits_for_the_next_reports(
    make: Make, agents: Agents, deployed: Plane, observer: ObserverProcess
) -> None:
    control, server = make("control"), make("lab", THERE)
    for one in (control, server):
        one.wait("Ready")
        agents.quiet(one)
        agents.report_until(lambda it=one: idle(it)[0] == "True", "it is idle", node_of(one))  # type: ignore[misc]
    before = observer.identity
    observer.kill()
    observer.start(lambda: observer.identity != before and _leads(deployed))
    agents.let_pass(lambda: is_stopped(control), "it is stopped after a new warning", HERE)
    assert not is_stopped(server), "the last report on it was for another process"
    assert idle(server)[0] == "True", "what was said about it still holds"
    agents.let_pass(lambda: is_stopped(server), "its node has reported again", THERE)


def test_a_clock_that_is_set_neither_stops_a_server_nor_keeps_it(
    make: Make, agents: Agents, observer: ObserverProcess
) -> None:
    busy, quiet = make("busy"), make("quiet")
    for server in (busy, quiet):
        server.wait("Ready")
        agents.idle[uid_of(server)] = lambda: 3
    agents.report_until(lambda: idle(quiet) == ("False", "Active"), "they are measured", HERE)
    for step, limit in ((DAY, "2h"), (-DAY, "3h")):
        observer.set_clocks(own=step, server=step)
        agents.report(HERE)
        for server in (busy, quiet):
            server.apply(lifecycle=LIFE | {"idleTimeout": limit})
            server.wait("Idle", "False")
            assert idle(server) == ("False", "Active")
            assert not is_stopped(server)
    quiet.apply(lifecycle=LIFE)
    agents.quiet(quiet, 46)
    agents.let_pass(lambda: is_stopped(quiet), "its time is over", HERE)
    assert idle(busy) == ("False", "Active")


def _leads(plane: Plane) -> bool:
    return plane.observer.identity in leases(plane.kubectl, SYSTEM)


def test_each_node_has_an_object_that_goes_with_it(agents: Agents) -> None:
    for node in NODES:
        found = agents.api.get(ACTIVITY, node)
        assert found
        uid = (agents.api.get("node", node) or {})["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}
        assert found["metadata"]["ownerReferences"] == [owner]
        agents.api.delete(ACTIVITY, node)

        def again(node: str = node, before: str = found["metadata"]["uid"]) -> bool:
            now = agents.api.get(ACTIVITY, node)
            return now is not None and now["metadata"]["uid"] != before

        wait_until(again, "it is created again")
