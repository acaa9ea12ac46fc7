"""Nodes show what their GPUWorkerNodes say, and who writes that writes nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support import gateway_place
from support.asked import label, patch
from support.gpu_worker_jobs import WorkerJob
from support.plane.content import NODES
from support.servers import wait_until
from support.tenants import ALICE, OBSERVER, OPERATOR, allowed, refusal

from devctl.api.gpu_worker_job import GROUP, NAMESPACE, SLOTS
from devctl.api.gpu_worker_node import CONTROLLER, GPU_MEMORY, PLURAL, PRICES, STATE
from devctl.api.kinds import GPU_WORKER_NODE
from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl
    from support.plane.kept import KeptObserver
    from support.plane.plane import Plane

pytestmark = pytest.mark.usefixtures("part")

CONFIG = REPOSITORY / "config/gateway"
RESOURCE = f"{PLURAL}.{GROUP}"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER}"
HERE, THERE = NODES
Thing = dict[str, Any]


@pytest.fixture(scope="module")
def part(
    kubectl: Kubectl,
    installed: object,  # noqa: ARG001 - it comes first
) -> Iterator[None]:
    """The manifests, but for the pods."""
    space = yaml.safe_load((CONFIG / "namespace.yaml").read_text())
    things = list(yaml.safe_load_all(kubectl("kustomize", str(CONFIG / "nodes"))))
    kubectl.api.apply(space)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": things})
    options = ("--server-side", "--validate=strict", "--warnings-as-errors", "--dry-run=server")
    kubectl("apply", *options, "-f", "-", input=listed)
    for each in things:
        if each["kind"] != "Deployment":
            kubectl.api.apply(each)
    wait_until(
        lambda: "nothing else" in refusal(kubectl, ACCOUNT, label(f"node/{HERE}", "a=b", dry=True)),
        "the policy is in force",
    )
    yield
    kubectl("delete", RESOURCE, "--all")
    for each in [*things, space]:
        metadata = each["metadata"]
        kubectl.api.delete(each["kind"].lower(), metadata["name"], metadata.get("namespace"))
    gone = f"namespace {NAMESPACE} is gone"
    wait_until(lambda: kubectl.api.get("namespace", NAMESPACE) is None, gone)


@pytest.fixture(scope="module")
def writer(plane: Plane, part: None) -> Iterator[KeptObserver]:
    """The writer of labels, as its Deployment starts it."""
    assert part is None
    with gateway_place.writer(plane) as process:
        yield process


@pytest.fixture
def worker(kubectl: Kubectl, writer: KeptObserver) -> Iterator[Callable[..., None]]:
    """Applies a GPUWorkerNode as the gateway does; all go after the test."""
    assert writer.is_running

    def apply(name: str = "gpu-0123456789ab", **spec: Any) -> None:
        kubectl.api.apply(manifest(name, **spec))

    yield apply
    kubectl("delete", RESOURCE, "--all")
    for node in NODES:
        wait_for(kubectl, {}, node)


def manifest(name: str = "gpu-0123456789ab", **spec: Any) -> Thing:
    given = {
        "nodeName": HERE,
        "gpuCount": 2,
        "gpuType": "RTX 4090",
        "gpuMemoryMegabytes": 24576,
        "maxConcurrentJobs": 2,
        "state": "active",
        "prices": {"perGPUHour": "1.20", "perCoreHour": "0.01", "perGigabyteHour": "0.002"},
    }
    kind = {"apiVersion": GPU_WORKER_NODE.api_version, "kind": GPU_WORKER_NODE.name}
    return kind | {"metadata": {"name": name}, "spec": given | spec}


def marks(kubectl: Kubectl, node: str = HERE) -> dict[str, str]:
    """What a node has of ours."""
    found = kubectl.api.get("node", node)
    assert found
    labels, status = found["metadata"].get("labels", {}), found.get("status", {})
    every = {key: labels[key] for key in (STATE, GPU_MEMORY, PRICES) if key in labels}
    for list_ in ("capacity", "allocatable"):
        if SLOTS in status.get(list_, {}):
            every[list_] = status[list_][SLOTS]
    return every


def marked(
    state: str = "active",
    slots: str = "2",
    memory: str = "24576",
    prices: str = "1.20_0.01_0.002",
) -> dict[str, str]:
    labels = {STATE: state, GPU_MEMORY: memory, PRICES: prices}
    return {**labels, "capacity": slots, "allocatable": slots}


def wait_for(kubectl: Kubectl, wanted: dict[str, str], node: str = HERE) -> None:
    wait_until(lambda: marks(kubectl, node) == wanted, lambda: f"it has {marks(kubectl, node)}")


def status(kubectl: Kubectl, name: str = "gpu-0123456789ab") -> Thing:
    found = kubectl.api.get(RESOURCE, name) or {}
    return dict(found.get("status", {}))


def wait_for_status(kubectl: Kubectl, name: str, phase: str, said: str) -> None:
    def so() -> bool:
        found = status(kubectl, name)
        return found.get("phase") == phase and said in found["message"]

    wait_until(so, lambda: f"its status is {status(kubectl, name)}")


def test_a_node_follows_its_object_from_its_registration_to_its_end(
    kubectl: Kubectl, worker: Callable[..., None]
) -> None:
    name = "gpu-0123456789ab"
    kubectl("label", "node", HERE, "mine=1")
    worker()
    wait_for(kubectl, marked())
    wait_for_status(kubectl, name, "Labelled", f"node `{HERE}` shows that it is active")
    worker(state="maintenance", maxConcurrentJobs=3)
    wait_for(kubectl, marked("maintenance", "3"))
    wait_for_status(kubectl, name, "Labelled", "maintenance")
    assert status(kubectl)["observedGeneration"] == 2
    worker(nodeName=THERE, gpuMemoryMegabytes=81920)
    wait_for(kubectl, {})
    wait_for(kubectl, marked(memory="81920"), THERE)
    kubectl("delete", RESOURCE, name)
    wait_for(kubectl, {}, THERE)
    found = kubectl.api.get("node", HERE)
    assert found
    assert found["metadata"]["labels"]["mine"] == "1"
    kubectl("label", "node", HERE, "mine-")


def test_somebody_else_s_hand_and_a_kubelet_that_starts_anew_are_corrected(
    kubectl: Kubectl, worker: Callable[..., None]
) -> None:
    worker()
    wait_for(kubectl, marked())
    kubectl("label", "node", HERE, f"{STATE}=error", f"{GPU_MEMORY}-", "--overwrite")
    wait_for(kubectl, marked())
    zero = {SLOTS: "0"}
    change = {"status": {"capacity": zero, "allocatable": zero}}
    kubectl.api.patch("node", HERE, change, sub="status")
    wait_for(kubectl, marked())


def test_of_two_with_one_node_the_older_one_has_it_until_it_goes(
    kubectl: Kubectl, worker: Callable[..., None]
) -> None:
    worker("gpu-older")
    wait_for(kubectl, marked())
    # Times of creation have whole seconds; of two from the same one, the first name is the older.
    worker("gpu-younger", maxConcurrentJobs=8)
    said = f"node `{HERE}` belongs to GPUWorkerNode `gpu-older`"
    wait_for_status(kubectl, "gpu-younger", "Absent", said)
    assert marks(kubectl) == marked()
    kubectl("delete", RESOURCE, "gpu-older")
    wait_for(kubectl, marked(slots="8"))
    wait_for_status(kubectl, "gpu-younger", "Labelled", HERE)


def test_an_object_waits_for_its_node_to_join(
    kubectl: Kubectl, worker: Callable[..., None]
) -> None:
    late = "late-joiner"
    worker(nodeName=late)
    wait_for_status(kubectl, "gpu-0123456789ab", "Absent", f"the cluster has no node `{late}`")
    kubectl.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": late}})
    try:
        wait_for(kubectl, marked(), late)
        wait_for_status(kubectl, "gpu-0123456789ab", "Labelled", late)
    finally:
        kubectl("delete", "node", late)
    wait_for_status(kubectl, "gpu-0123456789ab", "Absent", "the cluster has no node")


@pytest.mark.usefixtures("deployed")
def test_maintenance_keeps_new_jobs_away_and_lets_those_that_run_go_on(
    kubectl: Kubectl, worker: Callable[..., None], namespace: str
) -> None:
    first, second = (WorkerJob(kubectl.api, namespace, name) for name in ("job-1", "job-2"))
    worker()
    wait_for(kubectl, marked())
    first.apply(gpus=0)
    assert first.wait("Running")["node"] == HERE
    worker(state="maintenance")
    wait_for(kubectl, marked("maintenance"))
    second.apply(gpus=0)
    second.wait("Pending", "NoNode")
    assert first.status["phase"] == "Running"
    worker()
    assert second.wait("Running")["node"] == HERE
    for job in (first, second):
        job.end()
        job.wait("Completed")
        job.delete()


@pytest.mark.usefixtures("deployed")
def test_the_cheapest_node_with_room_is_chosen_although_another_one_is_emptier(
    kubectl: Kubectl, worker: Callable[..., None], namespace: str
) -> None:
    one, two, three, four = jobs = [
        WorkerJob(kubectl.api, namespace, f"job-{number}") for number in range(4)
    ]
    cheap, dear = priced("1.20"), priced("3.60")
    # A job of the default strategy is on the cheap node alone.
    worker(maxConcurrentJobs=2, **cheap)
    wait_for(kubectl, marked(prices="1.20_0.00_0.00"))
    one.apply()
    assert one.wait("Running")["node"] == HERE
    worker("gpu-dear", nodeName=THERE, **dear)
    wait_for(kubectl, marked(prices="3.60_0.00_0.00"), THERE)
    two.apply(schedulingStrategy="costOptimized")
    assert two.wait("Running")["node"] == HERE
    # There is no room left.
    three.apply(schedulingStrategy="costOptimized")
    assert three.wait("Running")["node"] == THERE
    for job in (one, two, three):
        job.delete()
    # What is cheap is what is cheap for this very job.
    worker(maxConcurrentJobs=2, **priced("1.20", core="9"))
    wait_for(kubectl, marked(prices="1.20_9.00_0.00"))
    four.apply(schedulingStrategy="costOptimized", cpuCores=2)
    assert four.wait("Running")["node"] == THERE
    for job in jobs:
        job.delete()


@pytest.mark.usefixtures("deployed")
def test_packed_jobs_stay_together_and_others_keep_apart(
    kubectl: Kubectl, worker: Callable[..., None], namespace: str
) -> None:
    packed, spread, beside = jobs = [
        WorkerJob(kubectl.api, namespace, f"job-{number}") for number in range(3)
    ]
    worker()
    worker("gpu-other", nodeName=THERE)
    for node in NODES:
        wait_for(kubectl, marked(), node)
    packed.apply(schedulingStrategy="packed")
    first = packed.wait("Running")["node"]
    spread.apply(schedulingStrategy="leastLoaded")
    assert spread.wait("Running")["node"] != first
    beside.apply(schedulingStrategy="packed")
    assert beside.wait("Running")["node"] == first
    for job in jobs:
        job.delete()


def priced(gpu: str, core: str = "0") -> Thing:
    return {"prices": {"perGPUHour": gpu, "perCoreHour": core, "perGigabyteHour": "0"}}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"state": "asleep"}, "spec.state"),
        ({"nodeName": "A_b"}, "spec.nodeName"),
        ({"maxConcurrentJobs": -1}, "spec.maxConcurrentJobs"),
        ({"gpuMemoryMegabytes": 1 << 30}, "spec.gpuMemoryMegabytes"),
        ({"gpuType": "a\nb"}, "control characters"),
        ({"prices": {"perGPUHour": "1.2345678"}}, "spec.prices.perGPUHour"),
        ({"prices": {"perDay": "1"}}, "unknown field"),
    ],
    ids=str,
)
def test_what_the_kind_does_not_take(kubectl: Kubectl, spec: Thing, said: str) -> None:
    text = json.dumps(manifest(**spec))
    with pytest.raises(pytest.fail.Exception, match=said):
        kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", input=text)


LABELS = {STATE: "active", GPU_MEMORY: "1", PRICES: "1.20_0.03_0.004"}


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"mine": "1"}}},
        {"metadata": {"labels": {"kubernetes.io/os": None}}},
        {"metadata": {"labels": {f"{GROUP}/other": "1"}}},
        {"metadata": {"labels": {STATE: "asleep"}}},
        {"metadata": {"labels": {GPU_MEMORY: "much"}}},
        {"metadata": {"labels": {PRICES: "much"}}},
        {"metadata": {"annotations": {STATE: "active"}}},
        {"metadata": {"finalizers": ["example.com/x"]}},
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}},
        {"metadata": {"labels": LABELS}, "spec": {"unschedulable": True}},
    ],
    ids=str,
)
def test_the_writer_changes_nothing_else_of_a_node(kubectl: Kubectl, change: Thing) -> None:
    asked = patch(f"node/{HERE}", change, dry=True)
    assert "and nothing else" in refusal(kubectl, ACCOUNT, asked)
    # The administrator may, so that it is no fault of the change itself.
    assert refusal(kubectl, "admin", asked, "system:masters") == ""


@pytest.mark.parametrize(
    "change",
    [
        {"status": {"capacity": {"example.com/other": "1"}}},
        {"status": {"capacity": {"cpu": "1"}}},
        {"status": {"allocatable": {"memory": None}}},
        {"status": {"capacity": {SLOTS: "1"}, "allocatable": {"example.com/other": "1"}}},
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        {"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}},
        {"status": {"nodeInfo": {"kernelVersion": "0"}}},
        {"status": {"images": [{"names": ["example.com/x:1"]}]}},
        {"metadata": {"labels": LABELS}, "status": {"capacity": {SLOTS: "1"}}},
    ],
    ids=str,
)
def test_the_writer_changes_nothing_else_of_a_node_s_status(
    kubectl: Kubectl, change: Thing
) -> None:
    asked = patch(f"node/{HERE}", change, sub="status", dry=True)
    assert "and nothing else" in refusal(kubectl, ACCOUNT, asked)
    assert refusal(kubectl, "admin", asked, "system:masters") == ""


def test_the_writer_writes_its_labels_and_slots_and_removes_them(kubectl: Kubectl) -> None:
    for value in (LABELS, dict.fromkeys(LABELS)):
        asked = patch(f"node/{HERE}", {"metadata": {"labels": value}}, dry=True)
        assert refusal(kubectl, ACCOUNT, asked) == ""
    for amount in ("7", None):
        slots = {SLOTS: amount}
        change = {"status": {"capacity": slots, "allocatable": slots}}
        asked = patch(f"node/{HERE}", change, sub="status", dry=True)
        assert refusal(kubectl, ACCOUNT, asked) == ""


@pytest.mark.parametrize(
    ("verb", "what", "options"),
    [
        ("patch", RESOURCE, {}),
        ("create", RESOURCE, {}),
        ("delete", RESOURCE, {}),
        ("patch", "gpuworkerjobs.imagepod.dev", {"namespace": NAMESPACE}),
        ("update", "nodes", {}),
        ("delete", "nodes", {}),
        ("create", "nodes", {}),
        ("list", "pods", {"namespace": ""}),
        ("get", "secrets", {"namespace": NAMESPACE}),
        ("update", "leases/other", {"namespace": NAMESPACE}),
        ("create", "leases", {"namespace": "devctl-system"}),
    ],
    ids=str,
)
def test_the_writer_may_do_nothing_else(
    kubectl: Kubectl, verb: str, what: str, options: dict[str, str]
) -> None:
    assert not allowed(kubectl, ACCOUNT, verb, what, **options)


@pytest.mark.parametrize("account", [ALICE, OPERATOR, OBSERVER])
def test_nobody_else_writes_these_objects(kubectl: Kubectl, account: str) -> None:
    for verb in ("create", "patch", "update", "delete"):
        assert not allowed(kubectl, account, verb, RESOURCE)
    assert not allowed(kubectl, account, "patch", RESOURCE, sub="status")
    assert not allowed(kubectl, account, "patch", "nodes")
