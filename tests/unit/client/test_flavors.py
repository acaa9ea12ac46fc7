"""Flavors: what they ask for, and how many pods there is room for."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from devctl.client.capacity import asked
from devctl.client.flavors import Flavor, Flavors
from devctl.errors import NotFoundError
from unit.client.objects import FLAVORS, NODES, PODS, Thing, flavor, node, pod

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi


@pytest.fixture
def flavors(api: FakeApi) -> Flavors:
    return Flavors(api.cluster())


def container(**requests: str) -> Thing:
    return {"resources": {"requests": requests}}


def test_what_a_flavor_says() -> None:
    gpu = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}
    raw = flavor("gpu-large", gpu, default=True)
    raw["status"]["conditions"] = [{"type": "Schedulable", "status": "False", "message": "no node"}]
    found = Flavor(raw)
    assert (found.cpu, found.memory, found.gpus) == ("8", "32Gi", "1")
    assert (found.default, found.schedulable, found.message) == (True, True, "no node")
    assert (found.limits, found.free, found.total) == ({}, None, None)
    assert Flavor(flavor() | {"status": {}}).schedulable is None
    assert Flavor(flavor()).gpus == Flavor(flavor()).message == ""


def test_how_many_are_free(api: FakeApi, flavors: Flavors) -> None:
    gpus = {"nvidia.com/gpu": "2"}
    api.add(NODES, node("a"), node("b") | {"spec": {"unschedulable": True}}, node("c"))
    api.things[NODES, "", "c"]["status"]["allocatable"] |= gpus
    api.add(FLAVORS, flavor("small", {"cpu": "1"}), flavor("gpu", {"nvidia.com/gpu": "1"}))
    there = pod("x-0", nodeName="a", containers=[container(cpu="2500m")])
    there["metadata"]["namespace"] = "dev-bob"
    ended = pod("y-0", nodeName="a", containers=[container(cpu="1")], phase="Succeeded")
    waits = pod("z-0", nodeName=None, containers=[container(cpu="1")])
    api.add(PODS, there, ended, waits)
    found = {each.name: (each.free, each.total) for each in flavors.list()}
    assert found == {"small": (1 + 4, 8), "gpu": (2, 2)}
    assert [each.free for each in flavors.list(counted=False)] == [None, None]


def test_taints_and_selectors_count(api: FakeApi, flavors: Flavors) -> None:
    api.add(NODES, node("a"))
    taint = {"key": "gpu", "effect": "NoSchedule"}
    api.things[NODES, "", "a"]["spec"]["taints"] = [taint]
    api.add(
        FLAVORS,
        flavor("plain"),
        flavor("tolerates", tolerations=[{"key": "gpu", "operator": "Exists"}]),
        flavor(
            "elsewhere",
            tolerations=[{"operator": "Exists"}],
            nodeSelector={"kubernetes.io/hostname": "b"},
        ),
    )
    assert {each.name: each.total for each in flavors.list()} == {
        "plain": 0,
        "tolerates": 8,
        "elsewhere": 0,
    }


@pytest.mark.parametrize(("denied", "total"), [(NODES, None), (PODS, 8)])
def test_who_may_not_look_gets_no_count(
    api: FakeApi, flavors: Flavors, denied: str, total: int | None
) -> None:
    api.add(NODES, node())
    api.add(FLAVORS, flavor())
    api.refusals["GET", denied] = (403, f"{denied} is forbidden")
    (found,) = flavors.list()
    assert (found.free, found.total) == (None, total)


def test_one_that_is_not_there(api: FakeApi, flavors: Flavors) -> None:
    with pytest.raises(NotFoundError, match="there is no flavor `big`") as raised:
        flavors.get("big")
    assert "devctl flavors" in raised.value.fix
    api.refusals["GET", FLAVORS] = (404, "the server could not find the requested resource")
    with pytest.raises(NotFoundError, match="may not be installed"):
        flavors.get("big")


def test_what_the_scheduler_counts_for_a_pod() -> None:
    spec = {
        "containers": [container(cpu="1"), {"resources": {"limits": {"cpu": "1", "memory": "1"}}}],
        "initContainers": [
            container(cpu="3") | {"restartPolicy": "Always"},
            container(cpu="2", memory="5"),
        ],
        "overhead": {"cpu": "500m"},
    }
    assert asked(spec) == {
        "pods": Decimal(1),
        "cpu": Decimal("5.5"),
        "memory": Decimal(5),
    }
    assert asked({"containers": [container(cpu="1")], **container(cpu="4")})["cpu"] == 4
