"""Causes for a GPUWorkerJob: one that succeeds and expires, one that is cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.gpu_worker_jobs import WorkerJob, registered
from support.plane.content import NODES
from support.servers import wait_until

if TYPE_CHECKING:
    from support.causes import Scene

DAY = 86400


def cause(scene: Scene) -> None:
    with registered(scene.kubectl.api, dict.fromkeys(NODES, 8192)):
        one, other = (WorkerJob(scene.kubectl.api, scene.namespace, f"job-{n}") for n in range(2))
        one.apply(ttlSecondsAfterFinished=DAY // 2)
        one.wait("Running")
        one.end()
        one.wait("Completed")
        other.apply()
        other.wait("Running")
        other.apply(cancelled=True)
        other.wait("Cancelled")
        other.delete()
        scene.clocks(DAY, DAY)
        wait_until(lambda: not one.job, "its Job expires")
        scene.clocks(0, 0)
        one.delete()
