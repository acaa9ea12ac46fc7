"""Causes for a GPUWorkload: one that succeeds and expires, one that is stopped while it runs.

The second has two pods, and so a Service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.servers import wait_until
from support.workloads import Workload

if TYPE_CHECKING:
    from support.causes import Scene

DAY = 86400


def cause(scene: Scene) -> None:
    one, stopped = (Workload(scene.kubectl.api, scene.namespace, f"gpu-{n}") for n in range(2))
    one.apply(ttlSecondsAfterFinished=DAY // 2)
    one.wait("Running")
    one.end()
    one.wait("Succeeded")
    stopped.apply(nodes=2)
    stopped.wait("Running")
    stopped.apply(nodes=2, stopped=True)
    stopped.wait("Pending", "Stopped")
    wait_until(lambda: not stopped.jobs(), "its Job is removed")
    stopped.delete()
    scene.clocks(DAY, DAY)
    wait_until(lambda: not one.jobs(), "its Job expires")
    scene.clocks(0, 0)
    one.delete()
