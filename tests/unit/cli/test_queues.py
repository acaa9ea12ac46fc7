"""What commands say of queues."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from unit.cli.egpu_program import egpu
from unit.client.job_things import JOBS, KEY
from unit.client.objects import SERVERS, server
from unit.client.test_queues import a_team, pod_workload, queued_job

if TYPE_CHECKING:
    from unit.cli.conftest import Devctl
    from unit.cli.egpu_program import Egpu
    from unit.client.fake_cluster import FakeApi

__all__ = ["egpu"]

TOLD = """\
Queue:        place 1 in the queue of team `vision` for flavor `gpu`
              not enough quota is free: it needs 1 more cpu
Quota:        4 of 4 pods in use
Held by:      `first` (3 pods, deleted in 2h (2026-01-02 14:00 UTC)), others that you may
              not see (1 pod)
Would fit:    flavor `small`, now
Starts:       in 2h (2026-01-02 14:00 UTC) at the latest, based on when `first` will be
              deleted (--ttl)
"""


BUSY = "team `vision` has 0 of 4 pods of flavor `gpu` free, and it needs 1; 1 waits already"


@pytest.fixture
def team(api: FakeApi) -> FakeApi:
    """A team of which one flavor is used up."""
    a_team(api)
    return api


@pytest.mark.usefixtures("team")
def test_describe_tells_all_about_a_server_that_waits(
    devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devctl.cli.page.columns", lambda _stream: 92)
    assert TOLD in devctl("describe", "lab").stdout


def test_status_tells_it_of_servers_that_are_named(team: FakeApi, devctl: Devctl) -> None:
    found = devctl("status", "lab", "first").stdout
    assert "\nlab:\n  Queue:        place 1 in the queue of team `vision`" in found
    assert "\nfirst:\n" not in found
    team.requests.clear()
    assert "Queue:" not in devctl("status").stdout
    assert team.requests == ["GET devservers"]
    assert json.loads(devctl("status", "lab", "-o", "json").stdout)["kind"] == "List"


@pytest.mark.usefixtures("team")
def test_a_dry_run_names_the_binding_limit_first(devctl: Devctl) -> None:
    line = ("create", "new", "--image", "torch:1", "--dry-run=server")
    found = devctl(*line, "--flavor", "gpu", "--shared", "data")
    assert found.code == 0
    assert found.stdout == "devserver/new created (server dry run)\n"
    assert found.stderr.splitlines() == [
        "it could not start: volumes: there is no claim `data` to mount at /shared",
        f"it would wait: team: {BUSY}",
    ]
    assert "nothing keeps it from starting" in devctl(*line, "--flavor", "small").stderr
    assert not devctl(*line, "--flavor", "gpu", "-o", "json").stderr


@pytest.mark.usefixtures("team")
def test_quota_has_that_of_the_team(devctl: Devctl) -> None:
    lines = [" ".join(line.split()) for line in devctl("quota").stdout.splitlines()]
    assert lines == [
        "RESOURCE USED FREE QUOTA",
        "pods of `gpu`, team `vision` 4 0 4",
        "pods of `small`, team `vision` 0 4 4",
    ]
    found = json.loads(devctl("quota", "-o", "json").stdout)
    assert found["pods of `gpu`, team `vision`"] == {"used": "4", "free": "0", "quota": "4"}


def test_a_preempted_server_has_its_reason_in_the_list(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, server("lab", "Stopped", reason="Preempted", message="preempted because"))
    assert "Preempted" in devctl("list").stdout
    found = devctl("describe", "lab").stdout
    assert "Stopped (Preempted)" in found
    assert "devctl start lab" in found


def test_a_job_that_waits_tells_all_about_it(team: FakeApi, egpu: Egpu) -> None:
    team.add(JOBS, queued_job())
    team.add("workloads", pod_workload("scan"), pod_workload("other", "2"))
    found = " ".join(egpu("get", "scan").stdout.split())
    assert "Phase: Pending (Queued)" in found
    assert "Queue: in the queue of team `vision` for flavor `gpu` not enough quota is free" in found
    assert "job `other` (1 pod)" in found
    assert "Flavor: gpu" in found
    assert "Queued" in egpu("list").stdout


def test_a_job_is_created_with_a_flavor(api: FakeApi, egpu: Egpu) -> None:
    assert egpu("create", "my-job", "--flavor", "gpu", "--no-wait").code == 0
    assert api.things[KEY]["spec"] == {"flavor": "gpu"}
