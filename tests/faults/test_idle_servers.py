"""Agents, observer and API server fail, and a node is drained: no server that works is stopped."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from support.processes import kill_leader
from support.servers import DevServer, succeeds, wait_until

from devctl.api.conditions import find
from devctl.api.labels import DEVSERVER
from devctl.api.node_activity import AGENT_NAMESPACE

if TYPE_CHECKING:
    from support.fault_day import Day

LIMIT = 60
LIFE = {"idleTimeout": f"{LIMIT}s", "autoShutdown": True}
API_SERVER = "etc/kubernetes/manifests/kube-apiserver.yaml"
WORK = "nohup sleep 3601 >/dev/null 2>&1 &"


@dataclass(frozen=True)
class Fault:
    """What came of it.

    Attributes:
        drained: What the status of the drained server said while nothing could run.
        returned: When its pod started again.
        servers: All of them when those that nobody used had been stopped, by name.
    """

    drained: dict[str, Any]
    returned: datetime
    servers: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def fault(day: Day) -> Fault:
    spec = day.server.spec | {"mode": "standalone", "distributed": None, "lifecycle": LIFE}
    names = ("works", "quiet", "moved")
    works, quiet, moved = (
        DevServer(day.kubectl, day.server.namespace, dict(spec), name) for name in names
    )
    for server in (works, quiet, moved):
        server.apply()
    for server in (works, quiet, moved):
        server.wait("Ready")
    works.run(WORK)
    moved.run(WORK)
    node = moved.get("pod", "moved-0")[0]["spec"]["nodeName"]
    try:
        only = f"--pod-selector={DEVSERVER}=moved"
        day.kubectl("drain", node, only, "--delete-emptydir-data", "--timeout=90s")
        moved.follow(
            lambda found: find(found["status"], "Idle").get("reason") == "NotRunning", "it waits"
        )
        everything = ("--all", "--force", "--grace-period=0")
        day.kubectl("-n", AGENT_NAMESPACE, "delete", "pod", *everything)
        kill_leader(day.kubectl, day.cluster, "observer")
        without_api_server(day, LIMIT + 15)
        drained = moved.get("devserver", "moved")[0]
    finally:
        day.kubectl("uncordon", node)
    moved.wait("Ready")
    started = moved.get("pod", "moved-0")[0]["status"]["startTime"]
    for server in (quiet, moved):
        server.follow(lambda found: stopped_at(found) is not None, "it is stopped", 4 * LIMIT)
    found = {one.name: one.get("devserver", one.name)[0] for one in (works, quiet, moved)}
    works.run("grep -q 360[1] /proc/[0-9]*/cmdline")
    day.await_well()
    return Fault(drained, datetime.fromisoformat(started), found)


def without_api_server(day: Day, seconds: float) -> None:
    """Take the API server away for longer than the servers' limit."""
    node = day.paths.node(day.cluster.nodes[0].name)
    there, away = node.root / API_SERVER, node.root / "kube-apiserver.yaml"

    def answers() -> bool:
        return succeeds(lambda: day.kubectl("get", "--raw=/readyz", "--request-timeout=2s"))

    there.rename(away)
    try:
        wait_until(lambda: not answers(), "the API server is away")
        time.sleep(seconds)
    finally:
        away.rename(there)
    wait_until(answers, "the API server is back", 120)


def stopped_at(server: dict[str, Any]) -> datetime | None:
    """When a server was stopped because it was idle."""
    said = find(server.get("status", {}), "Ready")
    if said.get("reason") != "IdleStopped":
        return None
    return datetime.fromisoformat(said["lastTransitionTime"])


def test_a_server_that_works_is_kept(fault: Fault) -> None:
    works = fault.servers["works"]
    assert not works["spec"].get("stopped"), works["status"]["idle"]
    said = find(works["status"], "Idle")
    assert (said["status"], said["reason"]) == ("False", "Active")


def test_one_that_nobody_uses_is_stopped_in_the_end(fault: Fault) -> None:
    quiet = fault.servers["quiet"]
    ended, began = stopped_at(quiet), datetime.fromisoformat(quiet["status"]["lastActivityAt"])
    assert ended
    # The status says when it was used last to ten seconds, so that it is not written all the time.
    assert (ended - began).total_seconds() >= LIMIT - 10


def test_a_drained_one_gets_its_whole_time_once_it_runs_again(fault: Fault) -> None:
    assert not fault.drained["spec"].get("stopped")
    said = find(fault.drained["status"], "Idle")
    assert (said["status"], said["reason"]) == ("False", "NotRunning")
    ended = stopped_at(fault.servers["moved"])
    assert ended
    assert (ended - fault.returned).total_seconds() >= LIMIT
