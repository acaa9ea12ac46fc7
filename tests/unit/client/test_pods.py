"""Which pod a command runs in, and why it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devctl.client.streams.pods import running_pod
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError
from unit.client.fake_streams import runs, there
from unit.client.objects import PODS, SERVERS, pod, server

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi


def test_one_request_where_all_is_well(api: FakeApi) -> None:
    there(api, replicas=2)
    assert running_pod(api.cluster(), "lab", 1)["metadata"]["name"] == "lab-1"
    assert api.requests == ["GET pods/lab-1"]


def test_a_pod_is_a_servers_by_its_label_only(api: FakeApi) -> None:
    api.add(SERVERS, server("lab", "Starting"))
    stranger = runs()
    del stranger["metadata"]["labels"]
    api.add(PODS, stranger)
    with pytest.raises(DevctlError, match="does not run"):
        running_pod(api.cluster(), "lab")


@pytest.mark.parametrize("name", ["", "A", "../x", "a/b", "-a", "a" * 53, "lab-0\n"])
def test_a_name_that_none_can_have(api: FakeApi, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a server's name"):
        running_pod(api.cluster(), name)
    assert api.requests == []


def test_what_is_not_there(api: FakeApi) -> None:
    with pytest.raises(NotFoundError, match="there is no server `lab` in namespace `dev-alice`"):
        running_pod(api.cluster(), "lab")
    there(api)
    with pytest.raises(NotFoundError, match="has no replica 1: it has one replica, 0"):
        running_pod(api.cluster(), "lab", 1)
    with pytest.raises(UsageError, match="no replica -1"):
        running_pod(api.cluster(), "lab", -1)
    there(api, "big", replicas=3)
    with pytest.raises(NotFoundError, match="3 replicas, 0 to 2"):
        running_pod(api.cluster(), "big", 3)


@pytest.mark.parametrize(
    ("phase", "how", "said", "fix"),
    [
        ("Stopped", {}, "server `lab` is stopped", "devctl start lab"),
        (
            "Pending",
            {"reason": "Unschedulable", "message": "no node has a GPU"},
            r"Pending \(Unschedulable\): no node has a GPU",
            "devctl status lab --watch",
        ),
        ("Running", {}, "does not run: Starting", "devctl status"),
        ("", {}, "does not run: Pending", "devctl status"),
    ],
)
def test_why_it_does_not_run(
    api: FakeApi, phase: str, how: dict[str, str], said: str, fix: str
) -> None:
    api.add(SERVERS, server("lab", phase, **how))  # type: ignore[arg-type] # two of its options
    with pytest.raises(DevctlError, match=said) as raised:
        running_pod(api.cluster(), "lab")
    assert fix in raised.value.fix


def test_a_container_that_has_ended_is_not_run_in(api: FakeApi) -> None:
    api.add(SERVERS, server("lab", "Failed", reason="CrashLoop", message="exit code 1"))
    api.add(PODS, runs(terminated={"exitCode": 1}))
    with pytest.raises(DevctlError, match="CrashLoop"):
        running_pod(api.cluster(), "lab")


def test_a_pod_without_a_word_of_its_container(api: FakeApi) -> None:
    api.add(SERVERS, server())
    api.add(PODS, pod("lab-0", phase="Pending"))
    with pytest.raises(DevctlError, match="does not run"):
        running_pod(api.cluster(), "lab")
    api.add(PODS, pod("lab-0"))
    assert running_pod(api.cluster(), "lab")


def test_what_the_user_may_not_see_is_said(api: FakeApi) -> None:
    api.refusals["GET", PODS] = (403, "pods is forbidden")
    with pytest.raises(DeniedError, match="forbidden"):
        running_pod(api.cluster(), "lab")
