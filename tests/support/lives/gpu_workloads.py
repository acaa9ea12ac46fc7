"""GPUWorkloads: on most GPUs of two nodes, finished with a TTL, stopped, and without a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.lives import HOUR, Life
from support.plane.scenarios import SUCCEEDS
from support.servers import wait_until
from support.workloads import PLURAL, Workload

from devctl.api.kinds import GPU_WORKLOAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.lives import Scene

PATIENT = {"maxRetries": 5, "backoffSeconds": 300}
"""So it stays as it is until the observer's clock is set."""


class GpuWorkloads(Life):
    """Those of a namespace."""

    kinds = (GPU_WORKLOAD,)

    def __init__(self, scene: Scene) -> None:
        """Create nothing yet."""
        super().__init__(scene)
        names = ("gang", "ended", "idle", "patient")
        found = [Workload(scene.api, scene.namespace, name) for name in names]
        self.gang, self.ended, self.idle, self.patient = found

    def begin(self) -> Iterator[None]:
        """Each in its turn: the second leaves one GPU of a node, as a GPUWorkerJob has another."""
        script = ["sh", "-c", SUCCEEDS]
        self.ended.apply(command=script, ttlSecondsAfterFinished=HOUR)
        self.idle.apply(stopped=True)
        yield
        self.ended.wait("Succeeded")
        self.gang.apply(nodes=2, gpuCount=3)
        yield
        self.gang.wait("Running")
        self.patient.apply(gpuCount=2, retryPolicy=PATIENT)
        yield
        self.patient.wait("Pending", "NoSuitableNode")
        self.idle.wait("Pending", "Stopped")

    def go_on(self) -> Iterator[None]:
        """Both ranks of the running one end, and the stopped one starts."""
        self.gang.end(rank=0)
        self.gang.end(rank=1)
        yield
        self.gang.wait("Succeeded")
        self.idle.apply(stopped=False)
        yield
        self.idle.wait("Running")

    def expire(self) -> Iterator[None]:
        """The finished one leaves no Job, and the next retry of the waiting one is due."""
        yield
        wait_until(lambda: not self.ended.jobs(), "its Job expires")
        self.patient.wait("Running")

    def go_back(self) -> Iterator[None]:
        """One ends and one is deleted."""
        self.patient.end()
        self.scene.api.delete(PLURAL, self.idle.name, self.idle.namespace)
        yield
        self.patient.wait("Succeeded")
        wait_until(lambda: not self.idle.pods(), "its pod goes")
