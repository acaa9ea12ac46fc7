"""GPUWorkloads on a plane: nodes with GPUs for them alone, and what becomes of them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from support.phased import Phased, Thing
from support.plane.content import GPUS, node
from support.servers import condition_of, wait_until

from devctl.api.gpu_workload import ATTEMPT, LABEL, RANK
from devctl.api.kinds import GPU_WORKLOAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

PLURAL = f"{GPU_WORKLOAD.plural}.{GPU_WORKLOAD.group}"
JOB_OF = "batch.kubernetes.io/job-name"
SMALL = {"cpu": "10m", "memory": "16Mi"}


class Workload(Phased):
    """A workload as its user sees it."""

    kind = GPU_WORKLOAD

    def apply(self, **spec: Any) -> None:
        """Apply it with a spec; without an image and a script it runs until it is ended."""
        given = {"modelName": "llama2", "gpuCount": 1, "image": "localhost/any:1"}
        self.apply_spec(given | {"resources": SMALL} | spec)

    def jobs(self) -> list[Thing]:
        """Its Jobs, by attempt."""
        found = self.api.list("job", self.namespace, labels=f"{LABEL}={self.name}")
        return sorted(found, key=lambda job: int(job["metadata"]["labels"][ATTEMPT]))

    def pods(self) -> list[Thing]:
        """Its pods, the newest last."""
        found = self.api.list("pod", self.namespace, labels=f"{LABEL}={self.name}")
        return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def ranks(self) -> dict[int, Thing]:
        """The pods of its last attempt, if that has several, by rank."""
        job = self.status.get("jobName")
        found = [pod for pod in self.pods() if pod["metadata"]["labels"].get(JOB_OF) == job]
        return {int(pod["metadata"]["labels"][RANK]): pod for pod in found}

    def end(self, scenario: str = "succeed", rank: int | None = None) -> None:
        """End its pod, or one of several: `succeed`, `fail` or `job-out-of-memory`."""
        wait_until(lambda: bool(self.pods()), lambda: f"it has a pod: {self.status}")
        pod = self.pods()[-1] if rank is None else self.ranks()[rank]
        self.end_pod(pod["metadata"]["name"], scenario)

    def delete(self) -> None:
        """Delete it, and wait until nothing is left of it."""
        self.api.delete(PLURAL, self.name, self.namespace)
        wait_until(lambda: not self.jobs() and not self.pods(), "its Jobs and pods go with it")


@contextmanager
def gpu_nodes(kubectl: Kubectl, name: str, count: int, gpus: int = 8) -> Iterator[list[str]]:
    """Nodes with more room than those of the plane, which are closed as long as they exist."""
    names = [f"{name}-{number}" for number in range(count)]
    room = {"cpu": "64", "memory": "512Gi", "pods": "250", "ephemeral-storage": "100Gi"}
    others = [found["metadata"]["name"] for found in kubectl.api.list("node")]
    for number, each in enumerate(names):
        made = node(each, 100 + number)
        made["status"]["capacity"] = made["status"]["allocatable"] = room | {GPUS: str(gpus)}
        kubectl.api.create(made)
        status = {"status": {key: made["status"][key] for key in ("capacity", "allocatable")}}
        kubectl.api.patch("node", each, status, sub="status")
    for other in others:
        kubectl.api.patch("node", other, {"spec": {"unschedulable": True}})
    wait_until(lambda: all(_is_ready(kubectl, each) for each in names), "they are ready")
    try:
        yield names
    finally:
        for other in others:
            kubectl.api.patch("node", other, {"spec": {"unschedulable": None}})
        for each in names:
            kubectl.api.delete("node", each)


def _is_ready(kubectl: Kubectl, name: str) -> bool:
    found = kubectl.api.get("node", name)
    assert found
    ready = condition_of(found.get("status", {}), "Ready").get("status") == "True"
    return ready and not found["spec"].get("taints")
