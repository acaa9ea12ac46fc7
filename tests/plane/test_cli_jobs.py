"""`devctl jobs` as a user types it: both kinds of jobs are listed, looked at and cancelled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.plane import scenarios
from support.servers import wait_until
from support.user_place import ACCOUNT
from support.workloads import Workload

from devctl.api.kinds import JOB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.user_place import UserPlace


@pytest.fixture(scope="module", autouse=True)
def _runs_both_kinds(place: UserPlace) -> None:
    """The user has the role for ephemeral jobs, too."""
    account = f"--serviceaccount={place.name}:{ACCOUNT}"
    role = ("--clusterrole=devctl-job-user", account)
    place.kubectl("-n", place.name, "create", "rolebinding", "jobs", *role)


@pytest.fixture
def one(place: UserPlace) -> Iterator[Workload]:
    """A GPU workload that runs."""
    made = Workload(place.kubectl.api, place.name)
    made.apply()
    made.wait("Running")
    yield made
    made.delete()


@pytest.fixture
def scan(place: UserPlace) -> Iterator[str]:
    """An ephemeral job that runs."""
    spec = {
        "image": "localhost/any:1",
        "command": ["/bin/sh", "-c", scenarios.WAITS],
        "resources": {"gpu": 0},
        "pvcSize": "20Mi",
    }
    job = {"apiVersion": JOB.api_version, "kind": JOB.name}
    metadata = {"name": "scan", "namespace": place.name}
    place.kubectl.api.apply(job | {"metadata": metadata, "spec": spec})
    yield "scan"
    place.kubectl("-n", place.name, "delete", "eaj", "scan", "--ignore-not-found")


def test_both_kinds_are_listed(one: Workload, scan: str, place: UserPlace) -> None:
    said = place.user.must("jobs", "list", "-o", "name").split()
    assert said == [f"gpuworkload/{one.name}", f"ephemeralaccelerationjob/{scan}"]
    table = place.user.must("jobs", "list").splitlines()
    assert table[0].split()[:3] == ["NAME", "KIND", "PHASE"]
    assert table[1].split()[:3] == [one.name, "GPUWorkload", "Running"]


def test_a_page_says_where_it_runs_and_why_there(one: Workload, place: UserPlace) -> None:
    page = place.user.must("jobs", "describe", one.name)
    assert "Phase:" in page
    assert one.status["assignedNode"] in page
    assert "Nodes considered:" in page
    found = json.loads(place.user.must("jobs", "describe", one.name, "-o", "json"))
    assert found["kind"] == "GPUWorkload"


def test_a_cancelled_workload_stays_without_its_pod(one: Workload, place: UserPlace) -> None:
    assert place.user.must("jobs", "cancel", one.name) == f"gpuworkload/{one.name} cancelled\n"
    one.wait("Pending", "Stopped")
    wait_until(lambda: not one.pods(), "its pod is removed")
    assert "is gone" in place.user.fails(3, "jobs", "logs", one.name)


def test_a_cancelled_workload_starts_again(one: Workload, place: UserPlace) -> None:
    place.user.must("jobs", "cancel", one.name)
    one.wait("Pending", "Stopped")
    said = place.user.must("jobs", "retry", one.name)
    assert said == f"gpuworkload/{one.name} started again\n"
    again = one.wait("Running")
    assert (again["attempt"], again["retryCount"]) == (2, 0)


def test_of_one_that_has_ended_a_copy_runs(one: Workload, place: UserPlace) -> None:
    one.apply(retryPolicy={"maxRetries": 0})
    assert "has not ended" in place.user.fails(1, "jobs", "retry", one.name)
    one.end("fail")
    one.wait("Failed")
    assert place.user.must("jobs", "retry", one.name) == f"gpuworkload/{one.name}-2 created\n"
    copy = Workload(one.api, one.namespace, f"{one.name}-2")
    copy.wait("Running")
    assert one.status["phase"] == "Failed"
    place.user.must("jobs", "delete", copy.name)
    wait_until(lambda: not copy.jobs() and not copy.pods(), "its Job and pod go with it")


def test_a_cancelled_ephemeral_job_is_deleted_and_its_volume_kept(
    scan: str, place: UserPlace
) -> None:
    claim = ("persistentvolumeclaim", f"artifacts-{scan}", place.name)
    wait_until(lambda: bool(place.kubectl.api.get(*claim)), "it has a volume")
    said = place.user("jobs", "cancel", scan)
    assert said.stdout.decode() == f"ephemeralaccelerationjob/{scan} cancelled and deleted\n"
    assert "is kept" in said.stderr.decode()
    assert place.kubectl.api.get(*claim)


def test_what_has_ended_is_left_alone(one: Workload, place: UserPlace) -> None:
    one.end()
    one.wait("Succeeded")
    said = place.user("jobs", "cancel", one.name)
    assert (said.returncode, said.stdout) == (0, b"")
    assert b"has ended already (Succeeded)" in said.stderr
    assert one.status["phase"] == "Succeeded"
