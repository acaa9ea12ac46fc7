"""Many GPUWorkloads at once on nodes with GPUs, and one that needs the room of others."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import pytest
from support.plane.content import GPUS
from support.servers import wait_until
from support.workloads import PLURAL, Workload, gpu_nodes

from devctl.api.gpu_workload import LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.api import Api
    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed")
MANY, NODES, EACH = 200, 28, 8
Thing = dict[str, Any]


class Ledger:
    """Counts the GPUs of every pod on every node, and whether a node ever had too many."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace, self._over = api, namespace, Event()
        self._pods: dict[str, tuple[str, int]] = {}
        self.excess: list[str] = []
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    @property
    def used(self) -> Counter[str]:
        """GPUs in use by node."""
        counts: Counter[str] = Counter()
        for node, gpus in list(self._pods.values()):
            counts[node] += gpus
        return counts

    def _run(self) -> None:
        for event, pod in self._api.watch("pod", self._namespace, 600):
            if self._over.is_set():
                return
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName")
            active = pod["status"].get("phase") not in {"Succeeded", "Failed"}
            if event == "DELETED" or not active:
                self._pods.pop(name, None)
            elif node:
                requests = pod["spec"]["containers"][0]["resources"]["requests"]
                self._pods[name] = (node, int(requests[GPUS]))
            self.excess += [node for node, count in self.used.items() if count > EACH]


def test_two_hundred_at_once_are_placed_within_capacity_and_spread(
    kubectl: Kubectl, namespace: str
) -> None:
    api, crowd = kubectl.api, [f"w-{number}" for number in range(MANY)]
    with gpu_nodes(kubectl, namespace, NODES, EACH), Ledger(api, namespace) as ledger:
        for name in crowd:
            Workload(api, namespace, name).apply()

        def phases() -> Counter[str]:
            found = api.list(PLURAL, namespace)
            return Counter(str(each.get("status", {}).get("phase")) for each in found)

        wait_until(lambda: phases() == {"Running": MANY}, lambda: f"all run: {phases()}", 400)
        wait_until(lambda: ledger.used.total() == MANY, "all are counted")
        assert ledger.excess == []
        # 200 on 28 nodes: seven or eight each would be optimal.
        counts = ledger.used.values()
        assert min(counts) >= MANY // NODES - 1
        assert max(counts) <= EACH
        assert max(counts) - min(counts) <= 2
        statuses = [each["status"] for each in api.list(PLURAL, namespace)]
        assert {(s["attempt"], s["retryCount"]) for s in statuses} == {(1, 0)}
        jobs = Counter(job["metadata"]["labels"][LABEL] for job in api.list("job", namespace))
        assert jobs == dict.fromkeys(crowd, 1)
        for name in crowd:
            api.delete(PLURAL, name, namespace)
        wait_until(lambda: not api.list("pod", namespace), "all go", 200)


def test_a_workload_of_high_priority_takes_the_gpus_of_one_of_low_priority(
    kubectl: Kubectl, namespace: str
) -> None:
    with gpu_nodes(kubectl, f"n-{uuid4().hex[:6]}", 1, EACH):
        low, high = (Workload(kubectl.api, namespace, name) for name in ("low", "high"))
        low.apply(priority="low", gpuCount=EACH)
        low.wait("Running")
        high.apply(priority="high", gpuCount=EACH // 2)
        high.wait("Running")
        waits = low.wait("Pending", "Preempted")
        assert "preempted by GPUWorkload `high` of a higher priority" in waits["message"]
        assert (waits["attempt"], waits["retryCount"]) == (1, 0)
        # One of its own priority takes nothing.
        other = Workload(kubectl.api, namespace, "other")
        other.apply(priority="low", gpuCount=EACH)
        other.wait("Pending", "NoSuitableNode")
        other.delete()
        high.end()
        high.wait("Succeeded")
        running = low.wait("Running")
        assert (running["attempt"], running["retryCount"]) == (2, 0)
        low.delete()
        high.delete()


@contextmanager
def held_gpu(api: Api, name: str, node: str, namespace: str) -> Iterator[None]:
    """A claim that holds a GPU of a node, as if its driver had allocated it."""
    made = {"apiVersion": "resource.k8s.io/v1", "metadata": {"name": name}}
    api.create(made | {"kind": "DeviceClass", "spec": {"extendedResourceName": GPUS}})
    request = {"name": "gpu", "exactly": {"deviceClassName": name}}
    claim: Thing = made | {"kind": "ResourceClaim", "spec": {"devices": {"requests": [request]}}}
    api.create(claim | {"metadata": {"name": name, "namespace": namespace}})
    result = {"request": "gpu", "driver": "gpu.example", "pool": node, "device": "gpu-0"}
    status = {"allocation": {"devices": {"results": [result]}}}
    api.patch("resourceclaim", name, {"status": status}, namespace, sub="status")
    try:
        yield
    finally:
        api.delete("resourceclaim", name, namespace)
        api.delete("deviceclass", name)


def test_a_gpu_that_a_claim_holds_is_not_free(kubectl: Kubectl, namespace: str) -> None:
    name, one = f"d-{uuid4().hex[:6]}", Workload(kubectl.api, namespace)
    with (
        gpu_nodes(kubectl, name, 1, EACH) as (node,),
        held_gpu(kubectl.api, name, node, namespace),
    ):

        def is_counted() -> bool:
            # The observer may read of the workload before it reads of the claim.
            one.apply(stopped=True)
            one.wait("Pending", "Stopped")
            wait_until(lambda: not one.pods(), "its pod is gone")
            one.apply()
            best = one.wait("Running")["considered"][0]
            return bool(best["reason"] == f"{EACH - 1} of {EACH} GPUs are free")

        wait_until(is_counted, "the claim is counted")
        one.delete()
