"""A VLLMRun, from its creation to its end, on GPUs that the test offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from devctl_dra_plugin import caches
from support.plane.content import NODES
from support.plane.scenarios import FAILS
from support.servers import wait_until
from support.vllm_runs import Run, offered

from devctl.api.kinds import CACHE_PLAN
from devctl.api.vllm_run import DEVICE_CLASS, checkout_name, service_name
from devctl.capsule.applying import arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed", "gpus")
HERE, THERE = NODES


@pytest.fixture
def gpus(kubectl: Kubectl) -> Iterator[None]:
    """Four GPUs on one node, two on the other."""
    with offered(kubectl.api, {HERE: 4, THERE: 2}):
        yield


@pytest.fixture
def make(kubectl: Kubectl, namespace: str) -> Iterator[Callable[[str], Run]]:
    made: list[Run] = []

    def one(name: str) -> Run:
        made.append(Run(kubectl.api, namespace, name))
        return made[-1]

    yield one
    for each in made:
        each.delete()


@pytest.fixture
def one(make: Callable[[str], Run]) -> Run:
    return make("one")


def devices(status: dict[str, Any]) -> list[tuple[str, int]]:
    return [(device["node"], device["index"]) for device in status["devices"]]


def test_it_is_served_and_gives_its_gpus_back_at_its_end(one: Run) -> None:
    one.apply(gpus=2)
    serving = one.wait("Serving")
    claim, pod = one.claim, one.pod
    assert claim
    assert pod
    results = claim["status"]["allocation"]["devices"]["results"]
    node = pod["spec"]["nodeName"]
    assert serving["node"] == node
    assert sorted(devices(serving)) == sorted(
        (each["pool"], int(each["device"].removeprefix("gpu-"))) for each in results
    )
    assert {device["node"] for device in serving["devices"]} == {node}
    assert serving["url"] == f"http://one-vllm.{one.namespace}.svc:8000"
    service = one.api.get("service", service_name("one"), one.namespace)
    assert service
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert one.condition("Ready")["status"] == "True"
    one.end()
    ended = one.wait("Succeeded", "Completed")
    assert ended["exitCode"] == 0
    wait_until(lambda: not one.claim, "its claim is given back")
    assert one.pod is not None
    assert devices(one.status) == devices(serving)
    wait_until(lambda: "claimName" not in one.status, "the status says so")


def test_a_failure_has_a_code_and_last_words(one: Run) -> None:
    one.apply(command=["sh", "-c", FAILS], port=0)
    failed = one.wait("Failed", "NonZeroExit")
    assert failed["exitCode"] == 7
    assert "it is broken" in failed["message"]


def test_numbers_are_exactly_those_gpus_and_a_holder_is_named(
    make: Callable[[str], Run],
) -> None:
    first, second = make("first"), make("second")
    first.apply(gpuIds=[1, 3], port=0)
    assert sorted(devices(first.wait("Running"))) == [(HERE, 1), (HERE, 3)]
    second.apply(gpuIds=[3], port=0)
    waits = second.wait("Pending", "GPUsTaken")
    assert waits["message"] == f"GPU 3 of `{HERE}` is held by run `first`"
    first.end()
    assert devices(second.wait("Running")) == [(HERE, 3)]


def test_a_shortage_says_how_many_are_free_where_and_who_has_them(
    make: Callable[[str], Run],
) -> None:
    first, second = make("first"), make("second")
    first.apply(gpus=3, port=0)
    first.wait("Running")
    second.apply(gpus=3, port=0)
    waits = second.wait("Pending", "GPUsTaken")
    assert f"1 of 4 on `{HERE}`" in waits["message"]
    assert f"2 of 2 on `{THERE}`" in waits["message"]
    assert "held by run `first` (3)" in waits["message"]
    first.delete()
    second.wait("Running")


def test_more_than_there_are_is_told(one: Run) -> None:
    one.apply(gpus=5)
    assert f"node `{HERE}` has the most, 4" in one.wait("Pending", "TooFewGPUs")["message"]


@pytest.mark.parametrize("node", NODES)
def test_a_node_is_preferred(one: Run, node: str) -> None:
    one.apply(preferNode=node, port=0)
    assert one.wait("Running")["node"] == node


def test_a_preferred_node_without_room_is_left_for_another(one: Run) -> None:
    one.apply(preferNode=THERE, gpus=3, port=0)
    assert one.wait("Running")["node"] == HERE


def test_a_claim_of_somebody_else_is_in_the_way_and_named(one: Run) -> None:
    exactly = {"deviceClassName": DEVICE_CLASS, "count": 1}
    theirs = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "one", "namespace": one.namespace},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }
    one.api.create(theirs)
    one.apply()
    one.wait("Pending", "Conflict")
    one.api.delete("resourceclaim", "one", one.namespace)
    one.wait("Serving")


def test_a_lost_claim_is_created_again_only_before_there_is_a_node(one: Run) -> None:
    one.apply(gpus=5)
    one.wait("Pending", "TooFewGPUs")
    before = one.claim
    assert before
    one.api.delete("resourceclaim", "one", one.namespace)

    def again() -> bool:
        now = one.claim
        return now is not None and now["metadata"]["uid"] != before["metadata"]["uid"]

    wait_until(again, "there is another claim")


def test_a_pod_that_somebody_deletes_is_the_end(one: Run) -> None:
    one.apply()
    one.wait("Serving")
    pod = one.pod
    assert pod
    one.api.delete("pod", pod["metadata"]["name"], one.namespace)
    one.wait("Failed", "PodDeleted")
    wait_until(lambda: not one.claim and not one.pod, "nothing holds its GPU")


def test_a_timeout_ends_what_waits(one: Run) -> None:
    one.apply(gpus=5, timeout="2s")
    failed = one.wait("Failed", "TimedOut")
    assert "within spec.timeout (2s)" in failed["message"]
    wait_until(lambda: not one.claim and not one.pod, "nothing waits any more")


def test_an_image_is_named_by_the_plan_once_it_has_it(one: Run, kubectl: Kubectl) -> None:
    one.apply(imageName="pinned")
    refused = one.wait("Pending", "Invalid")
    assert "the CachePlan has no image of that name" in refused["message"]
    kubectl.api.apply(plan(pinned="localhost/any:1"))
    try:
        one.wait("Serving")
        pod = one.pod
        assert pod
        assert pod["spec"]["containers"][0]["image"] == "localhost/any:1"
    finally:
        kubectl.api.delete(f"{CACHE_PLAN.plural}.{CACHE_PLAN.group}", "default")


@pytest.fixture
def planned(kubectl: Kubectl) -> Iterator[None]:
    """A repository and a model are in the plan."""
    url = "https://host/vllm.git"
    kubectl.api.apply(
        plan_of(
            {"type": "gitRepo", "name": "main", "gitRepo": {"url": url}},
            {"type": "model", "name": "opt", "model": {"repoId": "facebook/opt-125m"}},
        )
    )
    yield
    kubectl.api.delete(f"{CACHE_PLAN.plural}.{CACHE_PLAN.group}", "default")


@pytest.mark.usefixtures("planned")
def test_a_checkout_is_made_of_what_the_claim_has_the_driver_mount(one: Run) -> None:
    sha, digest = "1f" * 20, "0e" * 32
    capsule = {"digest": digest, "configMap": "capsule-0e"}
    one.apply(
        repoName="main",
        models=["opt"],
        checkout={"commit": sha, "capsule": capsule, "package": "vllm"},
        port=0,
    )
    one.wait("Running")
    claim, pod = one.claim, one.pod
    assert claim
    assert pod
    # The scheduler hands the configuration on, as the driver reads it.
    (seen,) = caches.wanted(claim)
    assert seen == caches.Wanted(("gpus",), ("main",), ("facebook/opt-125m",), ("main",))
    (makes,) = pod["spec"]["initContainers"]
    asked = arguments.read(makes["command"][3:])
    assert asked
    assert (asked.commit, asked.digest, asked.package) == (sha, digest, "vllm")
    assert (asked.repository, asked.target) == ("/cache/git/main", "/workspace/main")
    (runs,) = pod["spec"]["containers"]
    assert runs["workingDir"] == "/workspace/main"
    program = one.api.get("configmap", checkout_name("one"), one.namespace)
    assert program
    assert program["metadata"]["ownerReferences"][0]["name"] == "one"
    one.end()
    one.wait("Succeeded", "Completed")
    wait_until(
        lambda: not one.api.get("configmap", checkout_name("one"), one.namespace),
        "the program goes with the run's end",
    )
    assert one.pod is not None


def test_a_run_waits_for_the_plan_to_have_its_model(one: Run, kubectl: Kubectl) -> None:
    one.apply(models=["opt"], port=0)
    refused = one.wait("Pending", "Invalid")
    assert "spec.models `opt`: the CachePlan has no model of that name" in refused["message"]
    item = {"type": "model", "name": "opt", "model": {"repoId": "gpt2"}}
    kubectl.api.apply(plan_of(item))
    try:
        one.wait("Running")
    finally:
        kubectl.api.delete(f"{CACHE_PLAN.plural}.{CACHE_PLAN.group}", "default")


def plan(**images: str) -> dict[str, Any]:
    items = [{"type": "image", "name": n, "image": {"ref": r}} for n, r in images.items()]
    return plan_of(*items)


def plan_of(*items: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": CACHE_PLAN.api_version,
        "kind": CACHE_PLAN.name,
        "metadata": {"name": "default"},
        "spec": {"items": list(items)},
    }
