"""GPUs that pods request as a resource of no node: flavors and workloads count those of slices."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from devctl_observer.judging.devices import Claim, Gpu, Held, NamedResource, Slice, named_resource
from devctl_observer.judging.offers import NONE, Offer, offers, resources_of
from devctl_observer.kinds.flavors.capacity import Capacity
from devctl_observer.kinds.flavors.placed_pods import Asked, NodeUse
from devctl_observer.kinds.flavors.status import flavor_status
from devctl_observer.kinds.gpu_workload.placement import why_none
from devctl_observer.watching.children import Children
from devctl_observer.watching.kept import node_facts
from devctl_observer.watching.store import Key
from hypothesis import given
from hypothesis import strategies as st
from lightkube.resources.resource_v1 import DeviceClass

from devctl.api.quantities import GPU
from devctl.api.vllm_run import DRIVER
from unit.observer.gpu_workload.test_caches import KEY, OTHER, caches, controller
from unit.observer.gpu_workload.things import workload
from unit.observer.objects import NOW, flavor, node

OURS = "canhazgpu.com/gpu"
WHOLE = NamedResource(OURS, DRIVER)


def gpu(number: int, on: str = "n1", *, unhealthy: bool = False) -> Gpu:
    return Gpu(on, f"gpu-{number}", number, unhealthy=unhealthy)


def claim(*numbers: int, on: str = "n1", driver: str = DRIVER, pod: str = "") -> Claim:
    return Claim(held=tuple(Held(on, driver, f"gpu-{n}", DRIVER) for n in numbers), pod=pod)


def device_class(*selectors: str, name: str | None = OURS) -> NamedResource:
    spec: dict[str, Any] = {"selectors": [{"cel": {"expression": each}} for each in selectors]}
    spec |= {"extendedResourceName": name} if name else {}
    return named_resource(msgspec.convert({"metadata": {}, "spec": spec}, DeviceClass))


@pytest.mark.parametrize(
    ("selectors", "driver"),
    [
        ([f"device.driver == '{DRIVER}'"], DRIVER),
        ([f' device.driver=="{DRIVER}"\n'], DRIVER),
        ([f"device.driver == '{DRIVER}' && device.attributes['x'].y"], ""),
        ([f"device.driver == '{DRIVER}'", "device.capacity['x'].memory > quantity('1Gi')"], ""),
        ([f"device.driver != '{DRIVER}'"], ""),
        ([], ""),
    ],
)
def test_only_a_class_with_all_of_a_driver_can_be_counted(
    selectors: list[str], driver: str
) -> None:
    assert device_class(*selectors) == NamedResource(OURS, driver)


def test_resources_are_those_of_our_driver() -> None:
    others = [NamedResource("a/gpu", "gpu.nvidia.com"), NamedResource("b/gpu"), NamedResource()]
    assert resources_of([WHOLE, NamedResource("", DRIVER), *others]) == {OURS}


def test_claimed_and_withdrawn_gpus_are_taken_once() -> None:
    gpus = [gpu(0), gpu(1), gpu(2, unhealthy=True), gpu(0, "n2")]
    claims = [claim(0), claim(0), claim(2), claim(1, driver="other"), claim(9)]
    assert offers(gpus, claims) == {"n1": Offer(3, 2), "n2": Offer(1, 0)}


@given(
    st.lists(st.builds(gpu, st.integers(0, 5), st.sampled_from(["n1", "n2"])), unique=True),
    st.lists(st.builds(claim, st.integers(0, 5), on=st.sampled_from(["n1", "n2", "gone"]))),
)
def test_never_more_is_taken_than_there_is(gpus: list[Gpu], claims: list[Claim]) -> None:
    found = offers(gpus, claims)
    assert sum(offer.total for offer in found.values()) == len(gpus)
    assert all(0 <= offer.taken <= offer.total for offer in found.values())


def cluster(*nodes: Any, gpus: int = 4) -> Children:
    """Nodes that all offer GPUs by claim."""
    children = Children()
    for each in nodes:
        facts = node_facts(each)
        children.nodes.put(Key("", facts.name), 1, facts)
        known = tuple(gpu(number, facts.name) for number in range(gpus))
        _claims, _slices = children.devices.followed[1:]
        _slices.store.put(Key("", facts.name), 1, Slice(facts.name, 1, known))
    children.devices.classes.put(Key("", DRIVER), 1, WHOLE)
    return children


def counted(children: Children, use: NodeUse, count: int = 1) -> tuple[bool, int, int]:
    capacity = Capacity(children.nodes, use, children.devices)
    wanted = flavor(resources={"limits": {"cpu": "1m", OURS: count}})
    found = flavor_status(wanted, {}, capacity.nodes, capacity, NOW)
    return found["schedulable"], found["total"], found["free"]


def hold(children: Children, name: str, held: Claim) -> None:
    followed = children.devices.followed[1]
    children.devices.claims.put(Key("team", name), 1, held)
    followed.changed(None, held)


def test_a_flavor_counts_what_the_scheduler_takes_from_slices() -> None:
    children, use = cluster(node("n1"), node("n2")), NodeUse()
    assert counted(children, use) == (True, 8, 8)
    assert counted(children, use, 3) == (True, 2, 2)
    assert counted(children, use, 5) == (False, 0, 0)
    # A pod's request and the claim that the scheduler has made for it are one.
    use.change(None, Asked("n1", (("pods", Decimal(1)), (OURS, Decimal(2)))))
    hold(children, "for-pod", claim(0, 1, pod="p"))
    assert counted(children, use) == (True, 8, 6)
    hold(children, "own", claim(2))
    assert counted(children, use) == (True, 8, 5)


def test_without_the_class_no_node_fits() -> None:
    children = cluster(node("n1"))
    classes = children.devices.followed[0]
    children.devices.classes.drop(Key("", DRIVER))
    classes.changed(WHOLE, None)
    assert counted(children, NodeUse()) == (False, 0, 0)


def test_a_device_plugin_comes_first() -> None:
    """As kube-scheduler does: where a node lists the resource, its pods have no claims."""
    listed = {"cpu": "4", "memory": "8Gi", OURS: "2"}
    children, use = cluster(node("n1", allocatable=listed)), NodeUse()
    use.change(None, Asked("n1", (("pods", Decimal(1)), (OURS, Decimal(1)))))
    hold(children, "own", claim(0, 1))
    assert counted(children, use) == (True, 2, 1)
    # One whose device plugin has gone lists none.
    children = cluster(node("n1", allocatable=listed | {OURS: "0"}))
    assert counted(children, NodeUse()) == (True, 4, 4)


def test_a_node_that_is_gone_offers_nothing() -> None:
    children = cluster(node("n1"))
    assert children.devices.offer("gone") == NONE
    capacity = Capacity(children.nodes, NodeUse(), children.devices)
    assert capacity.of("gone") == {}


def test_a_workload_gets_a_node_whose_gpus_are_offered_by_claim_alone() -> None:
    known = caches(nodes=2, gpus=0)
    devices = known.children.devices
    devices.classes.put(Key("", DRIVER), 1, NamedResource(GPU, DRIVER))
    devices.followed[2].store.put(Key("", "n2"), 1, Slice("n2", 1, (gpu(0, "n2"), gpu(1, "n2"))))
    hold(known.children, "own", claim(0, on="n2"))

    def free() -> dict[str, Decimal]:
        return {
            place.node.name: Decimal(dict(place.node.allocatable)[GPU]) - place.used.get(GPU, 0)
            for place in known.places(OTHER, workload(), NOW)
        }

    assert free() == {"n1": 0, "n2": 1}
    known.workloads.put(KEY, 1, workload(gpuCount=1))
    looked, _ = controller(known)
    asyncio.run(looked.look(KEY))
    item = known.workloads.get(KEY)
    assert item is not None
    assert item.status["assignedNode"] == "n2"


def test_nobody_makes_room_for_a_claim() -> None:
    """Kube-scheduler replaces pods for what nodes list, and not for devices."""
    known = caches(gpus=0)
    devices = known.children.devices
    devices.classes.put(Key("", DRIVER), 1, NamedResource(GPU, DRIVER))
    devices.followed[2].store.put(Key("", "n1"), 1, Slice("n1", 1, (gpu(0),)))
    amounts = (("cpu", Decimal(1)), ("pods", Decimal(1)), (GPU, Decimal(1)))
    known.use.change(None, Asked("n1", amounts, -10))
    hold(known.children, "theirs", claim(0, pod="p"))
    urgent = workload(gpuCount=1, priority="high")
    (place,) = known.places(OTHER, urgent, NOW)
    assert place.used[GPU] == 1
    assert sorted(place.yielding) == ["cpu", "pods"]
    assert "0 of 1 GPUs free" in why_none(urgent.needs, [place])
