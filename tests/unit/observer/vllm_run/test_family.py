"""What wakes a run's role, what is missing, and which runs a change concerns."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from devctl_observer.control.role_controller import Known
from devctl_observer.judging.devices import Gpu, Slice, claim_of, slice_of, valid_gpus
from devctl_observer.kinds.vllm_run.observed import RunCaches
from devctl_observer.kinds.vllm_run.transitions import transitions
from devctl_observer.kinds.vllm_run.wake import cause, missing
from devctl_observer.watching.children import Children
from devctl_observer.watching.kept import node_facts
from devctl_observer.watching.store import Key
from lightkube.resources.core_v1 import Node
from lightkube.resources.resource_v1 import ResourceClaim, ResourceSlice

from devctl.api.vllm_run import DRIVER, LABEL
from unit.observer.running import idle_observer
from unit.observer.vllm_run.things import (
    NAME,
    NAMESPACE,
    OWNER,
    STARTED,
    UID,
    at,
    claim,
    pod,
    run,
    seen,
)

KEY = Key(NAMESPACE, NAME)
ENDED = STARTED | {"phase": "Failed", "finishedAt": at(0)}
EXPIRED = ENDED | {"conditions": [{"type": "PodExpired", "status": "True"}]}
FAILED = {"type": "Applied", "status": "False", "observedGeneration": 1}


def device(number: int, **more: Any) -> dict[str, Any]:
    attributes = {"index": {"int": number}, f"{DRIVER}/uuid": {"string": f"GPU-{number}"}}
    attributes |= {"model": {"string": "made up"}, "madeUp": {"bool": True}}
    return {"name": f"gpu-{number}", "attributes": attributes, **more}


def slice_(generation: int, *devices: dict[str, Any]) -> Slice:
    pool = {"name": "n1", "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": list(devices)}
    return slice_of(msgspec.convert({"metadata": {"name": "s"}, "spec": spec}, ResourceSlice))


def a_claim(*devices: str, **meta: Any) -> ResourceClaim:
    results = [
        {"driver": DRIVER, "pool": "n1", "device": name, "request": "gpus"} for name in devices
    ]
    metadata = {"name": NAME, "namespace": NAMESPACE, "uid": "c-1", "labels": {LABEL: NAME}}
    return msgspec.convert(
        {
            "metadata": metadata | {"ownerReferences": [OWNER]} | meta,
            "spec": {
                "devices": {"requests": [{"name": "gpus", "exactly": {"deviceClassName": DRIVER}}]}
            },
            "status": {"allocation": {"devices": {"results": results}}} if results else {},
        },
        ResourceClaim,
    )


def test_a_slice_tells_what_is_known_of_each_gpu() -> None:
    sick = device(1, taints=[{"key": f"{DRIVER}/unhealthy", "effect": "NoSchedule"}])
    first, second = valid_gpus([slice_(1, sick, device(0))])
    assert first == Gpu("n1", "gpu-0", 0, "GPU-0", "made up", made_up=True)
    assert second.unhealthy
    bare = valid_gpus([slice_(1, {"name": "gpu-x"})])
    assert bare == (Gpu("n1", "gpu-x"),)


def test_an_earlier_generation_of_slices_does_not_count() -> None:
    found = valid_gpus([slice_(1, device(0), device(1)), slice_(2, device(0))])
    assert [gpu.number for gpu in found] == [0]


def caches(*claims: ResourceClaim) -> RunCaches:
    known = RunCaches(Children())
    for each in claims:
        meta = each.metadata
        assert meta
        key = Key(meta.namespace or "", meta.name or "")
        known.children.devices.claims.put(key, 1, claim_of(each))
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    node = {"metadata": {"name": "n1"}, "status": status}
    known.children.nodes.put(Key("", "n1"), 1, node_facts(msgspec.convert(node, Node)))
    return known


def test_what_is_observed_is_this_very_runs() -> None:
    known = caches(a_claim("gpu-0"))
    known.children.pods.put(Key(NAMESPACE, "one-vllm-pod"), 1, pod())
    found = known.observe(KEY, run())
    assert found.pod
    assert [gpu.device for gpu in found.gpus] == ["gpu-0"]
    assert found.nodes == {"n1"}
    another = known.observe(KEY, run(meta={"uid": "r-2"}))
    assert another.pod is None
    assert another.taken
    assert another.claim is None
    going = caches(a_claim("gpu-0", deletionTimestamp=at(0)))
    assert going.observe(KEY, run()).claim is None


def test_others_claims_are_in_the_way_of_a_run_without_gpus() -> None:
    theirs = a_claim("gpu-1", name="two", labels={LABEL: "two"})
    assert caches(a_claim(), theirs).observe(KEY, run()).view.holders == {
        ("n1", "gpu-1"): "run `two`"
    }


@pytest.mark.parametrize(
    ("observed", "lost"),
    [
        (seen(run(), None, claim=None), ["one", "one-vllm-pod"]),
        (seen(run(), None), ["one-vllm-pod"]),
        (seen(run(), pod("Pending", None), claim=None), ["one"]),
        # It may use what the claim held: there is no other one.
        (seen(run(), pod("Pending", "n1", state={}), claim=None), []),
        (seen(run(STARTED), None, claim=None), []),
        (seen(run(), None, claim=None, last=pod()), []),
        (seen(run(ENDED), None, claim=None), []),
        (seen(run(), None, taken=True), []),
    ],
)
def test_what_the_role_creates_again(observed: Any, lost: list[str]) -> None:
    assert missing(observed) == lost


def test_the_role_runs_for_the_end_and_for_the_expiry_once() -> None:
    assert cause(run(ENDED), "", Known()) == ("finished", at(0))
    assert cause(run(EXPIRED), "", Known()) == ("expired", at(0))
    assert cause(run(), "", Known()) == ()
    assert cause(run(), "", Known(lost=["one"], gone="c-1"))[0] == "lost"
    going = run(ENDED, meta={"deletionTimestamp": at(0)})
    assert cause(going, "", Known()) == ()


@pytest.mark.parametrize(
    "spec", [{"imageName": "pinned"}, {"repoName": "main"}, {"models": ["opt"]}]
)
def test_a_name_that_the_plan_lacks_is_looked_up_again_once_the_plan_changes(
    spec: dict[str, Any],
) -> None:
    refused = {"conditions": [FAILED | {"reason": "Invalid"}]}
    named = run(refused, **spec)
    assert cause(named, "5", Known()) != cause(named, "6", Known())
    assert cause(run(refused), "5", Known()) == ()


def test_events_tell_what_matters_once() -> None:
    def kinds(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str]]:
        return [(each.type, each.reason) for each in transitions(before, after)]

    starting = {"phase": "Starting", "reason": "NotServing"}
    serving = {"phase": "Serving", "reason": "Serving"}
    assert kinds(starting, serving) == [("Normal", "Serving")]
    assert kinds(serving, serving) == []
    assert kinds(serving, starting) == [("Warning", "NotServing")]
    building = {"phase": "Starting", "reason": "BuildingCheckout"}
    assert kinds({}, building) == [("Normal", "BuildingCheckout")]
    failed = {"phase": "Failed", "reason": "CheckoutFailed"}
    assert kinds(building, failed) == [("Warning", "CheckoutFailed")]
    taken = {"phase": "Pending", "reason": "GPUsTaken"}
    assert kinds({}, taken) == [("Warning", "GPUsTaken")]
    completed = {"phase": "Succeeded", "reason": "Completed"}
    assert kinds(serving, completed) == [("Normal", "Completed")]
    expired = EXPIRED | {"reason": "NonZeroExit"}
    assert kinds(ENDED | {"reason": "NonZeroExit"}, expired) == [("Normal", "PodExpired")]


def test_a_change_of_any_claim_concerns_all_that_have_not_ended() -> None:
    asyncio.run(_changes())


async def _changes() -> None:
    observer = idle_observer()
    family = next(f for f in observer.families if f.kind.name == "VLLMRun")
    family.store.put(KEY, 1, run())
    family.store.put(Key(NAMESPACE, "over"), 1, run(ENDED, meta={"name": "over", "uid": "r-9"}))
    assert family.label == LABEL
    claimed = observer.children.devices.followed[1]
    assert claimed.kind is ResourceClaim
    claimed.changed(claim(0, owners=frozenset(["else"])), claim(0))
    assert family.queue.waiting == 1
    claimed.changed(claim(0), None)
    assert family.controller.gone == {KEY: "c-1"}
    assert UID in claim(0).owners


def test_a_claim_that_is_given_back_concerns_the_finished_run_that_had_it() -> None:
    asyncio.run(_given_back())


async def _given_back() -> None:
    observer = idle_observer()
    family = next(f for f in observer.families if f.kind.name == "VLLMRun")
    family.store.put(KEY, 1, run(ENDED))
    family.store.put(Key(NAMESPACE, "other"), 1, run(ENDED, meta={"name": "other", "uid": "r-9"}))
    claimed = observer.children.devices.followed[1]
    claimed.changed(None, claim(0))
    assert family.queue.waiting == 0
    claimed.changed(claim(0), None)
    assert family.queue.waiting == 1
    assert family.controller.gone == {KEY: "c-1"}
