"""A server at one moment, from what the API server says of it."""

from __future__ import annotations

import doctest
from datetime import UTC, datetime, timedelta

from devctl.api.devserver import Phase
from devctl.client import named
from devctl.client.server import Server
from unit.client.objects import NOW, ago, server


def test_examples() -> None:
    assert doctest.testmod(named).failed == 0


def test_what_the_spec_says() -> None:
    found = Server(server("lab", replicas=3, spec={"lifecycle": {"timeToLive": "8h"}}))
    assert (found.name, found.namespace, found.owner) == ("lab", "dev-alice", "alice@company.com")
    assert (found.flavor, found.image, found.mode) == ("cpu-small", "torch:1", "distributed")
    assert (found.size, found.processes, found.ssh, found.stopped) == (3, 1, True, False)
    assert found.pods() == ["lab-0", "lab-1", "lab-2"]
    assert found.homes == ["home-lab-0", "home-lab-1", "home-lab-2"]
    assert found.lifecycle == {"timeToLive": "8h"}
    assert found.created_at == NOW - timedelta(hours=2)


def test_what_the_status_says() -> None:
    found = Server(server("lab", replicas=2, startedAt=ago(hours=1), expiresAt=ago(hours=-3)))
    assert found.phase is Phase.RUNNING
    assert found.ready
    assert found.seen
    assert found.ready_replicas == 2
    assert found.started_at == NOW - timedelta(hours=1)
    assert found.expires_at == NOW + timedelta(hours=3)
    assert [(r.ordinal, r.pod, r.node, r.phase) for r in found.replicas] == [
        (0, "lab-0", "node-0", Phase.RUNNING),
        (1, "lab-1", "node-1", Phase.RUNNING),
    ]


def test_one_that_nobody_has_looked_at() -> None:
    found = Server(server("lab", ""))
    assert (found.phase, found.reason, found.message) == (Phase.PENDING, "", "")
    assert not found.ready
    assert not found.seen
    assert not found.going
    assert (found.replicas, found.ready_replicas) == ([], 0)
    assert (found.started_at, found.expires_at) == (None, None)


def test_what_its_role_could_not_do_is_said_until_the_observer_looks() -> None:
    failed = {"type": "Applied", "status": "False", "reason": "Conflict", "message": "not yours"}
    found = Server(server("lab", "", spec={}) | {"status": {"conditions": [failed]}})
    assert (found.reason, found.message) == ("Conflict", "not yours")
    raw = server("lab", "Pending", reason="Unschedulable", message="no node")
    raw["status"]["conditions"].append(failed)
    assert Server(raw).reason == "Unschedulable"


def test_a_status_of_before_a_change_is_told_apart() -> None:
    raw = server()
    raw["metadata"]["generation"] = 2
    assert not Server(raw).seen


def test_what_a_dry_run_answers_was_made_now() -> None:
    raw = server()
    del raw["metadata"]["creationTimestamp"]
    assert datetime.now(UTC) - Server(raw).created_at < timedelta(minutes=1)
