"""GPUs that ResourceClaims hold are not free, and none is counted twice."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from devctl_observer.judging.devices import (
    FOR_REQUESTS,
    Held,
    NamedResource,
    claim_of,
    named_resource,
)
from devctl_observer.kinds.gpu_workload.claimed import ClaimedGpus, claimed_gpus
from devctl_observer.watching.devices import Devices
from devctl_observer.watching.store import Key
from lightkube.resources.resource_v1 import DeviceClass, ResourceClaim

from devctl.api.quantities import GPU
from unit.observer.gpu_workload.test_caches import OTHER, caches
from unit.observer.gpu_workload.things import workload
from unit.observer.objects import NOW

EXACT = {"name": "gpu", "exactly": {"deviceClassName": "gpus"}}
CHOICE = {
    "name": "any",
    "firstAvailable": [
        {"name": "large", "deviceClassName": "gpus"},
        {"name": "part", "deviceClassName": "parts"},
    ],
}
POD = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}


def result(device: str, request: str = "gpu", **more: Any) -> dict[str, Any]:
    return {"driver": "gpu.example", "pool": "n1", "device": device, "request": request} | more


def claim(*results: dict[str, Any], **meta: Any) -> ResourceClaim:
    allocation = {"devices": {"results": list(results)}}
    return msgspec.convert(
        {
            "metadata": {"name": "c", "namespace": "team"} | meta,
            "spec": {"devices": {"requests": [EXACT, CHOICE]}},
            "status": {"allocation": allocation} if results else {},
        },
        ResourceClaim,
    )


def device_class(resource: str | None) -> DeviceClass:
    spec = {"extendedResourceName": resource} if resource else {}
    return msgspec.convert({"metadata": {"name": "gpus"}, "spec": spec}, DeviceClass)


def gpus(*claims: ResourceClaim) -> int:
    devices = Devices()
    devices.classes.put(Key("", "gpus"), 1, NamedResource(GPU))
    for number, each in enumerate(claims):
        devices.claims.put(Key("team", f"c-{number}"), 1, claim_of(each))
    return ClaimedGpus(devices).on("n1")


def test_each_device_of_the_class_counts_on_its_node() -> None:
    assert claim_of(claim(result("gpu-0"))).held == (Held("n1", "gpu.example", "gpu-0", "gpus"),)
    assert gpus(claim(result("gpu-0"), result("gpu-1"))) == 2
    elsewhere = claim(result("gpu-0", pool="n2"))
    assert claimed_gpus([claim_of(elsewhere).held], {"gpus"}) == {"n2": 1}
    assert gpus(claim()) == 0
    assert gpus(msgspec.convert({"metadata": {}, "spec": {}}, ResourceClaim)) == 0


def test_of_a_choice_the_one_that_was_taken_counts() -> None:
    assert gpus(claim(result("gpu-0", "any/large"))) == 1
    assert gpus(claim(result("part-0", "any/part"))) == 0
    assert gpus(claim(result("gpu-0", "gone"))) == 0


def test_a_device_that_claims_share_counts_once() -> None:
    assert gpus(claim(result("gpu-0", shareID="a")), claim(result("gpu-0", shareID="b"))) == 1


def test_an_administrators_access_holds_nothing() -> None:
    assert gpus(claim(result("gpu-0", adminAccess=True))) == 0


@pytest.mark.parametrize(
    ("notes", "owners", "count"),
    [
        # The pod's request is counted already.
        ({FOR_REQUESTS: "true"}, [POD], 0),
        ({FOR_REQUESTS: "true"}, [], 1),
        ({}, [POD], 1),
    ],
)
def test_what_a_pod_requests_as_a_resource_is_not_counted_again(
    notes: dict[str, str], owners: list[dict[str, str]], count: int
) -> None:
    assert gpus(claim(result("gpu-0"), annotations=notes, ownerReferences=owners)) == count


def test_a_class_says_whether_its_devices_are_gpus() -> None:
    assert named_resource(device_class(GPU)) == NamedResource(GPU)
    assert named_resource(device_class(None)) == NamedResource()


def test_free_gpus_follow_claims_and_classes() -> None:
    known = caches()

    def used() -> int:
        (place,) = known.places(OTHER, workload(), NOW)
        return int(place.used.get(GPU, 0))

    of = known.children.devices
    classes, claims, _slices = of.followed
    assert all(each.optional for each in of.followed)
    of.claims.put(Key("team", "c"), 1, claim_of(claim(result("gpu-0"))))
    assert used() == 0
    of.classes.put(Key("", "gpus"), 1, NamedResource(GPU))
    classes.changed(None, NamedResource(GPU))
    assert used() == 1
    of.claims.drop(Key("team", "c"))
    claims.changed(None, None)
    assert used() == 0
