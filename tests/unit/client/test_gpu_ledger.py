"""Each GPU is counted once, and what is offered, held or counted twice is said."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING, Any

import pytest

from devctl.api.quantities import GPU
from devctl.api.vllm_run import DRIVER, RESERVED
from devctl.client.findings import State
from devctl.client.gpu_ledger import requests
from devctl.client.gpu_ledger.balance import Seen, balance
from devctl.client.gpu_ledger.check import gpus, judge, look
from devctl.client.gpu_ledger.devices import FOR_REQUESTS, NVIDIA
from devctl.client.gpu_ledger.entries import Ledger, Trouble
from devctl.client.gpu_ledger.requests import IMPLICIT, Request, amounts, requested
from devctl.errors import DeniedError, NotFoundError
from unit.client.fake_cluster import FakeApi
from unit.client.vllm_things import CLAIMS, SLICES, UNKNOWN_KIND, gpu_claim, gpu_slice

if TYPE_CHECKING:
    from unit.client.objects import Thing

OURS = "canhazgpu.com/gpu"
OFFERED, HELD, COUNTED, RESERVED_TOO = (
    *(Trouble.OFFERED_TWICE, Trouble.HELD_TWICE, Trouble.COUNTED_TWICE),
    Trouble.RESERVED_TOO,
)


def node(name: str = "n1", allocatable: int | None = None, **gpus: int) -> Thing:
    """A node that lists GPUs, such as `nvidia=2`."""
    there = {"cpu": "8", **{f"{vendor}.com/gpu": str(count) for vendor, count in gpus.items()}}
    healthy = {**there, **({GPU: str(allocatable)} if allocatable is not None else {})}
    return {"metadata": {"name": name}, "status": {"capacity": there, "allocatable": healthy}}


def device(number: int, uuid: str = "", **more: Any) -> Thing:
    """A real GPU in a slice."""
    attributes = {"index": {"int": number}, "uuid": {"string": uuid or f"GPU-{number}"}}
    return {"name": f"gpu-{number}", "attributes": attributes, **more}


def pod(
    name: str = "p", count: int = 1, resource: str = GPU, on: str | None = "n1", **status: Any
) -> Thing:
    limits = {"limits": {resource: str(count)}} if count else {}
    spec = {"containers": [{"resources": limits}], **({"nodeName": on} if on else {})}
    meta = {"name": name, "namespace": "dev-alice", "uid": f"uid-{name}"}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Running", **status}}


def made_for(of: Thing, *held: tuple[str, str], device_class: str = DRIVER) -> Thing:
    """The claim that the scheduler has made for a pod."""
    made = gpu_claim(f"{of['metadata']['name']}-claim", *held)
    owner = {"kind": "Pod", "name": of["metadata"]["name"], "uid": of["metadata"]["uid"]}
    made["metadata"] |= {"annotations": {FOR_REQUESTS: "true"}, "ownerReferences": [owner]}
    exactly = {"deviceClassName": device_class}
    return made | {"spec": {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}}


def device_class(resource: str = OURS, name: str = DRIVER) -> Thing:
    return {"metadata": {"name": name}, "spec": {"extendedResourceName": resource}}


def troubles(ledger: Ledger) -> list[Trouble]:
    return [problem.trouble for problem in ledger.problems]


def test_examples() -> None:
    assert doctest.testmod(requests).failed == 0


def test_a_node_with_a_device_plugin() -> None:
    seen = Seen([node(nvidia=8, allocatable=7), node("cpu")], [pod(count=2), pod("q", 0)])
    (only,) = balance(seen).nodes
    assert (only.name, only.total, only.free) == ("n1", 8, 5)
    (resource,) = only.resources
    assert (resource.name, resource.capacity, resource.allocatable, resource.requested) == (
        *(GPU, 8, 7, 2),
    )
    assert balance(seen).problems == []


def test_gpus_of_several_vendors_and_their_parts() -> None:
    there = node(nvidia=2, amd=1)
    there["status"]["capacity"]["nvidia.com/mig-1g.5gb"] = "7"
    (only,) = balance(Seen([there], [pod(resource="amd.com/gpu")])).nodes
    assert [(each.name, each.requested) for each in only.resources] == [
        ("amd.com/gpu", 1),
        (GPU, 0),
    ]
    assert (only.total, only.free) == (3, 2)


def test_a_node_with_gpus_by_claim() -> None:
    unhealthy: Thing = {"taints": [{"key": "canhazgpu.com/unhealthy", "effect": "NoSchedule"}]}
    slices = [gpu_slice("n1", device(0), device(1), device(2, **unhealthy))]
    ledger = balance(Seen([node()], [], slices, [gpu_claim("run", ("n1", "gpu-1"), run=True)]))
    (only,) = ledger.nodes
    assert (only.total, only.free, ledger.problems) == (3, 1, [])
    assert [str(holder) for gpu in only.gpus for holder in gpu.holders] == ["run dev-alice/run"]


def test_what_the_scheduler_makes_a_claim_for_is_counted_once() -> None:
    asking = pod(resource=OURS)
    slices = [gpu_slice("n1", device(0), device(1))]
    seen = Seen([node()], [asking], slices, [made_for(asking, ("n1", "gpu-0"))], [device_class()])
    ledger = balance(seen)
    assert (ledger.total, ledger.free, ledger.problems) == (2, 1, [])
    # The pod's status says it as well, to those who may not see the class.
    mapping = {"requestMappings": [{"resourceName": OURS}], "resourceClaimName": "c"}
    marked = pod(resource=OURS, extendedResourceClaimStatus=mapping)
    ledger = balance(seen._replace(pods=[marked], classes=[]))
    assert (ledger.total, ledger.free, ledger.problems) == (2, 1, [])


def test_a_class_named_gpu_has_a_resource_of_its_own() -> None:
    asking = pod(resource=f"{IMPLICIT}gpu")
    claim = made_for(asking, ("n1", "gpu-0"), device_class="gpu")
    (found,) = requested([asking], [claim], [device_class(name="gpu")])
    assert found == Request("n1", f"{IMPLICIT}gpu", 1, "dev-alice/p", by_claim=True)


@pytest.mark.parametrize(
    "other",
    [
        pod(on=None),
        pod(phase="Succeeded"),
        pod(phase="Failed"),
        pod(on="gone"),
        pod(resource="cpu"),
    ],
)
def test_pods_that_have_no_gpu(other: Thing) -> None:
    ledger = balance(Seen([node(nvidia=1)], [other]))
    assert (ledger.total, ledger.free) == (1, 1)


def test_init_containers_and_sidecars() -> None:
    def container(count: int, **more: str) -> Thing:
        return {"resources": {"limits": {GPU: str(count)}}, **more}

    def counted(*init: Thing) -> int:
        return amounts({"containers": [container(1)], "initContainers": list(init)})[GPU]

    assert counted(container(3), container(2)) == 3
    assert counted(container(2, restartPolicy="Always")) == 3
    assert counted(container(2, restartPolicy="Always"), container(4)) == 6


def test_a_plugin_and_a_driver_on_the_same_node() -> None:
    claim = gpu_claim("c", ("n1", "gpu-0"))
    seen = Seen([node(nvidia=2)], [pod()], [gpu_slice("n1", device(0), device(1))], [claim])
    ledger = balance(seen)
    assert troubles(ledger) == [OFFERED]
    # They may have given away the same GPU, or both.
    assert (ledger.total, ledger.free) == (2, 0)
    (problem,) = ledger.problems
    assert problem.found == f"node `n1` offers GPUs both as `{GPU}` and through {DRIVER}"
    assert "keep the device plugin off" in problem.fix


def test_made_up_gpus_are_no_others() -> None:
    made_up = device(0)
    made_up["attributes"][f"{DRIVER}/madeUp"] = {"bool": True}
    ledger = balance(Seen([node(nvidia=2)], [], [gpu_slice("n1", made_up)]))
    assert (ledger.total, ledger.free, ledger.problems) == (3, 3, [])


def test_two_drivers_offer_the_same_gpu() -> None:
    slices = [gpu_slice("n1", device(0)), gpu_slice("n1", device(0), driver=NVIDIA)]
    ledger = balance(Seen([node()], [], slices))
    assert (ledger.total, troubles(ledger)) == (1, [OFFERED])
    assert "GPU GPU-0 is offered by canhazgpu.com on `n1`, gpu.nvidia.com on `n1`" in (
        ledger.problems[0].found
    )
    ours, theirs = gpu_claim("a", ("n1", "gpu-0")), gpu_claim("b", ("n1", "gpu-0"))
    theirs["status"]["allocation"]["devices"]["results"][0]["driver"] = NVIDIA
    ledger = balance(Seen([node()], [], slices, [ours, theirs]))
    assert (ledger.total, ledger.free, troubles(ledger)) == (1, 0, [OFFERED, HELD])
    assert "held by claim dev-alice/a, claim dev-alice/b at once" in ledger.problems[1].found


def test_two_nodes_offer_the_same_gpu() -> None:
    slices = [gpu_slice("n1", device(0)), gpu_slice("n2", device(0))]
    holds = [gpu_claim("a", ("n1", "gpu-0")), gpu_claim("b", ("n2", "gpu-0"))]
    ledger = balance(Seen([node(), node("n2")], [], slices, holds))
    assert (ledger.total, troubles(ledger)) == (1, [OFFERED, HELD])


def test_parts_of_a_gpu_are_one() -> None:
    parts = [device(n, f"MIG-{n}") for n in (1, 2)]
    for part in parts:
        part["attributes"]["parentUUID"] = {"string": "GPU-0"}
    slices = [gpu_slice("n1", device(0), *parts, driver=NVIDIA)]
    holds = [gpu_claim("a", ("n1", "gpu-1")), gpu_claim("b", ("n1", "gpu-2"))]
    for hold in holds:
        hold["status"]["allocation"]["devices"]["results"][0]["driver"] = NVIDIA
    ledger = balance(Seen([node()], [], slices, holds))
    assert (ledger.total, ledger.free, ledger.problems) == (1, 0, [])


def test_a_device_in_two_claims() -> None:
    slices = [gpu_slice("n1", device(0))]
    holds = [gpu_claim("a", ("n1", "gpu-0")), gpu_claim("b", ("n1", "gpu-0"), run=True)]
    ledger = balance(Seen([node()], [], slices, holds))
    assert (ledger.total, ledger.free, troubles(ledger)) == (1, 0, [HELD])
    assert "`gpu-0` of node `n1` is held by claim dev-alice/a, run dev-alice/b at once" in (
        ledger.problems[0].found
    )


def test_shares_and_administrators_do_not_hold_twice() -> None:
    slices = [gpu_slice("n1", device(0))]
    shares = [gpu_claim(name, ("n1", "gpu-0")) for name in "ab"]
    for share in shares:
        share["status"]["allocation"]["devices"]["results"][0]["shareID"] = share["metadata"][
            "name"
        ]
    looking = gpu_claim("c", ("n1", "gpu-0"), admin=True)
    ledger = balance(Seen([node()], [], slices, [*shares, looking]))
    assert (ledger.total, ledger.free, ledger.problems) == (1, 0, [])


def test_a_pod_that_is_counted_in_both() -> None:
    """Its node has got a device plugin since the scheduler made a claim."""
    asking = pod(resource=GPU)
    seen = Seen(
        [node(nvidia=2)],
        [asking],
        [gpu_slice("n1", device(0), device(1))],
        [made_for(asking, ("n1", "gpu-0"))],
        [device_class(GPU)],
    )
    ledger = balance(seen)
    assert (ledger.total, ledger.free, troubles(ledger)) == (2, 1, [OFFERED, COUNTED])
    assert "pod dev-alice/p has a claim for its `nvidia.com/gpu`" in ledger.problems[1].found


def test_a_gpu_claimed_and_reserved_at_once() -> None:
    taints = [{"key": RESERVED, "value": "alice", "effect": "NoSchedule"}]
    slices = [gpu_slice("n1", device(2, taints=taints))]
    assert balance(Seen([node()], [], slices)).problems == []
    ledger = balance(Seen([node()], [], slices, [gpu_claim("run", ("n1", "gpu-2"), run=True)]))
    assert (ledger.total, ledger.free, troubles(ledger)) == (1, 0, [RESERVED_TOO])
    said = "GPU 2 of node `n1` is held by run dev-alice/run, and reserved on the host by alice"
    assert said in ledger.problems[0].found


def test_more_than_there_is() -> None:
    ledger = balance(Seen([node(nvidia=1)], [pod(), pod("q")]))
    assert (ledger.total, ledger.free, troubles(ledger)) == (1, 0, [Trouble.OVERBOOKED])
    ledger = balance(Seen([node()], [], [], [gpu_claim("a", ("n1", "gpu-7"))]))
    assert (ledger.total, troubles(ledger)) == (0, [Trouble.NOT_OFFERED])
    assert "does not offer now" in judge(ledger).found


def test_only_the_newest_slices_of_a_driver_count() -> None:
    slices = [
        gpu_slice("n1", device(0), device(1)),
        gpu_slice("n1", device(0), generation=2),
        gpu_slice("n1", device(5), driver=NVIDIA),
        gpu_slice("n1", device(6), driver="nics.example.com"),
    ]
    assert balance(Seen([node()], [], slices)).total == 2


def cluster(**things: list[Thing]) -> FakeApi:
    api = FakeApi()
    for plural, found in things.items():
        api.add(plural, *found)
    return api


def test_doctor_tells_administrators() -> None:
    api = cluster(nodes=[node()], resourceslices=[gpu_slice("n1", device(0), device(1))])
    found = gpus(api.cluster())
    assert (found.state, found.found) == (
        State.OK,
        "2 GPUs on 1 node, 2 free, each counted once",
    )
    assert found.detail is not None
    assert found.detail["nodes"][0]["devices"][0] == {
        "offers": ["canhazgpu.com/n1/gpu-0"],
        "uuid": "GPU-0",
        "index": 0,
        "madeUp": False,
        "holders": [],
        "reservedFor": "",
        "withdrawn": False,
    }
    api.add("nodes", node(nvidia=2))
    found = gpus(api.cluster())
    assert (found.state, "detail" in found.raw) == (State.WARNING, False)
    assert found.detail is not None
    assert found.detail["problems"][0]["reason"] == "OfferedTwice"
    assert found.detail["nodes"][0]["resources"] == [
        {"name": GPU, "capacity": 2, "allocatable": 2, "requested": 0}
    ]


def test_doctor_names_a_few_problems_and_counts_the_rest() -> None:
    nodes = [node(f"n{number}", nvidia=1) for number in range(5)]
    pods = [pod(f"p{number}", 2, on=f"n{number}") for number in range(5)]
    found = judge(balance(Seen(nodes, pods)))
    assert "`n2`" in found.found
    assert "`n3`" not in found.found
    assert found.found.endswith("; and 2 more problems")
    assert found.fix.count("device plugin") == 1


def test_without_gpus_nobody_lists_all_pods() -> None:
    api = cluster(nodes=[node()], pods=[pod()])
    assert gpus(api.cluster()).found == "no node has GPUs"
    assert "GET pods" not in api.requests


def test_doctor_skips_what_a_user_may_not_see() -> None:
    api = cluster(nodes=[node(nvidia=1)])
    api.refusals["GET", "pods"] = (403, "pods is forbidden")
    assert gpus(api.cluster()).state is State.SKIPPED
    with pytest.raises(DeniedError, match="pods is forbidden"):
        look(api.cluster())


def test_a_cluster_without_claims_has_an_account_as_well() -> None:
    api = cluster(nodes=[node(nvidia=1)])
    for plural in (CLAIMS, SLICES, "deviceclasses"):
        api.refusals["GET", plural] = UNKNOWN_KIND
    assert look(api.cluster()).total == 1
    api.refusals["GET", "nodes"] = (404, "not there")
    with pytest.raises(NotFoundError, match="not there"):
        look(api.cluster())
