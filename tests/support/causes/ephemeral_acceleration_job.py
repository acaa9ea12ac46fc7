"""Of jobs: one that ends and whose times are over, and one that is deleted while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.jobs import SUCCEEDS, WAITS, Job
from support.servers import wait_until

from devctl.api.ephemeral_acceleration_job import RELEASED_AT

if TYPE_CHECKING:
    from support.causes import Scene

DAY = 86400


def cause(scene: Scene) -> None:
    job, left = (Job(scene.kubectl, scene.namespace, scene.image, name) for name in ("job", "left"))
    left.apply(command=WAITS)
    job.apply(command=SUCCEEDS)
    job.wait("Succeeded")
    left.wait("Running")
    left.delete()
    # A day counts from then, and not from a day later.
    wait_until(
        lambda: RELEASED_AT in left.get("pvc", left.claim)[0]["metadata"]["annotations"],
        "it is known since when its volume has no job",
    )
    scene.clocks(DAY, DAY)
    job.wait_gone("pod", job.pod)
    job.wait_gone("pvc", job.claim)
    left.wait_gone("pvc", left.claim)
    scene.clocks(0, 0)
