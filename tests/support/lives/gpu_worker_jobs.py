"""GPUWorkerJobs: running, finished with a TTL, and without a node; and a GPUWorkerNode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.gpu_worker_jobs import WorkerJob
from support.lives import HOUR, Life
from support.plane.content import NODES
from support.plane.scenarios import SUCCEEDS
from support.servers import wait_until

from devctl.api.gpu_worker_node import GPU_MEMORY
from devctl.api.kinds import GPU_WORKER_JOB, GPU_WORKER_NODE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.lives import Scene

MEMORY = {NODES[0]: 8192}
"""The memory of GPUs, in megabytes, on the nodes that are to take jobs."""


class GpuWorkerJobs(Life):
    """Those of a namespace, as a gateway would write them."""

    kinds = (GPU_WORKER_JOB, GPU_WORKER_NODE)

    def __init__(self, scene: Scene) -> None:
        """Create nothing yet."""
        super().__init__(scene)
        names = ("job-running", "job-done", "job-large")
        self.running, self.done, self.large = (
            WorkerJob(scene.api, scene.namespace, name) for name in names
        )

    def begin(self) -> Iterator[None]:
        """They wait for each other's processor cores."""
        self._register()
        self.done.apply(command=["sh", "-c", SUCCEEDS], ttlSecondsAfterFinished=HOUR)
        self.large.apply(gpuMemoryMegabytes=2 * MEMORY[NODES[0]])
        yield
        self.done.wait("Completed")
        self.running.apply()
        yield
        self.running.wait("Running")
        self.large.wait("Pending", "NoNode")

    def go_on(self) -> Iterator[None]:
        """The running one ends, and the node has GPUs that are large enough for the waiting one."""
        self.running.end()
        labels = {GPU_MEMORY: str(2 * MEMORY[NODES[0]])}
        self.scene.api.patch("node", NODES[0], {"metadata": {"labels": labels}})
        yield
        self.running.wait("Completed")
        self.large.wait("Running")

    def expire(self) -> Iterator[None]:
        """The finished one leaves no Job."""
        yield
        wait_until(lambda: not self.done.job, "its Job expires")

    def go_back(self) -> Iterator[None]:
        """The one that runs is cancelled."""
        self.large.apply(gpuMemoryMegabytes=2 * MEMORY[NODES[0]], cancelled=True)
        yield
        self.large.wait("Cancelled")

    def _register(self) -> None:
        kind = {"apiVersion": GPU_WORKER_NODE.api_version, "kind": GPU_WORKER_NODE.name}
        spec = {
            "nodeName": NODES[0],
            "gpuCount": 1,
            "gpuMemoryMegabytes": MEMORY[NODES[0]],
            "maxConcurrentJobs": 4,
            "state": "active",
        }
        metadata = {"name": f"{self.scene.mark}-node"}
        self.scene.api.apply(kind | {"metadata": metadata, "spec": spec})
