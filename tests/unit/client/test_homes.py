"""Homes: listed with who uses them, and deleted only where nobody does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devctl.client.homes import Home, Homes, mounts
from devctl.errors import BusyError, DevctlError, NotFoundError, UsageError
from devctl.kube.cluster import EVERYWHERE
from unit.client.objects import CLAIMS, NAMESPACE, PODS, SERVERS, home, pod, server

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi


@pytest.fixture
def homes(api: FakeApi) -> Homes:
    return Homes(api.cluster())


def test_a_home_says_whose_it_is() -> None:
    found = Home(home("lab", 11, size="5Gi"))
    assert (found.server, found.replica, found.size) == ("lab", 11, "5Gi")
    assert (found.phase, found.storage_class, found.is_home) == ("Bound", "devctl-home", True)
    waits = home()
    waits["status"] = {"phase": "Pending"}
    assert (Home(waits).size, Home(waits).phase) == ("1Gi", "Pending")


def test_they_are_listed_in_order_with_who_uses_them(api: FakeApi, homes: Homes) -> None:
    api.add(CLAIMS, home("lab", 10), home("lab", 2), home("art", 0), home("own", ours=False))
    shared = home("lab", 0)
    shared["metadata"]["name"] = "data"
    api.add(CLAIMS, shared)
    api.add(PODS, pod("lab-2", "home-lab-2"), pod("lab-10", "home-lab-10", phase="Failed"))
    assert [(found.name, list(found.pods)) for found in homes.list()] == [
        ("home-art-0", []),
        ("home-lab-2", ["lab-2"]),
        ("home-lab-10", []),
    ]
    assert [found.name for found in homes.list(server="art")] == ["home-art-0"]


def test_those_of_all_namespaces_are_told_apart(api: FakeApi, homes: Homes) -> None:
    other = home("lab", 0)
    other["metadata"]["namespace"] = "dev-bob"
    api.add(CLAIMS, home("lab", 0), other)
    api.add(PODS, pod("lab-0", "home-lab-0"))
    found = [(home.namespace, len(home.pods)) for home in homes.list(EVERYWHERE)]
    assert found == [(NAMESPACE, 1), ("dev-bob", 0)]


def test_one_that_nobody_uses_is_deleted(api: FakeApi, homes: Homes) -> None:
    api.add(CLAIMS, home())
    assert homes.delete("home-lab-0").server == "lab"
    assert api.names(CLAIMS) == []
    with pytest.raises(NotFoundError, match="there is no home `home-lab-0`"):
        homes.delete("home-lab-0")


@pytest.mark.parametrize("phase", ["Running", "Pending"])
def test_one_in_use_is_kept(api: FakeApi, homes: Homes, phase: str) -> None:
    api.add(CLAIMS, home())
    api.add(PODS, pod("lab-0", "home-lab-0", phase=phase))
    with pytest.raises(BusyError, match="pod `lab-0` uses it") as raised:
        homes.delete("home-lab-0")
    assert "devctl stop lab" in raised.value.fix
    assert api.names(CLAIMS) == ["home-lab-0"]


def test_one_of_a_server_that_is_about_to_start_is_kept(api: FakeApi, homes: Homes) -> None:
    api.add(CLAIMS, home())
    api.add(SERVERS, server("lab", "Pending"))
    with pytest.raises(BusyError, match="server `lab` is about to use it"):
        homes.delete("home-lab-0")
    api.add(SERVERS, server("lab", "Stopped"))
    homes.delete("home-lab-0")
    api.add(CLAIMS, home())
    going = server()
    going["metadata"]["deletionTimestamp"] = "2026-01-02T12:00:00Z"
    api.add(SERVERS, going)
    homes.delete("home-lab-0")
    assert api.names(CLAIMS) == []


def test_what_is_no_home_is_left_alone(api: FakeApi, homes: Homes) -> None:
    api.add(CLAIMS, home("own", ours=False))
    with pytest.raises(UsageError, match="is not a home of a server"):
        homes.delete("home-own-0")
    assert api.names(CLAIMS) == ["home-own-0"]


def test_another_one_of_the_name_is_left_alone(api: FakeApi, homes: Homes) -> None:
    api.add(CLAIMS, home())
    (seen,) = homes.list()
    api.things[CLAIMS, NAMESPACE, "home-lab-0"]["metadata"]["uid"] = "other"
    with pytest.raises(DevctlError, match="recreated meanwhile"):
        homes.delete(seen)
    assert api.names(CLAIMS) == ["home-lab-0"]


def test_a_cluster_without_the_right_to_claims_is_no_missing_home(
    api: FakeApi, homes: Homes
) -> None:
    api.refusals["GET", CLAIMS] = (404, "the server could not find the requested resource")
    with pytest.raises(NotFoundError, match="may not be installed"):
        homes.get("home-lab-0")


def test_a_claim_that_two_pods_mount_names_both() -> None:
    pods = [pod("a-0", "data", "home-a-0"), pod("b-0", "data"), pod("c-0", "data", phase="Failed")]
    assert mounts(pods) == {
        (NAMESPACE, "data"): ["a-0", "b-0"],
        (NAMESPACE, "home-a-0"): ["a-0"],
    }
