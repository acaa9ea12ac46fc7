"""EphemeralAccelerationJobs: running, finished with a TTL, suspended, and waiting for GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.jobs import SMALL, SUCCEEDS, WAITS, Job
from support.lives import DAY, HOUR, Life

from devctl.api.kinds import JOB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.lives import Scene


class Jobs(Life):
    """Those of a namespace."""

    kinds = (JOB,)

    def __init__(self, scene: Scene) -> None:
        """Create nothing yet."""
        super().__init__(scene)
        names = ("running", "finished", "kept", "waiting")
        jobs = [Job(scene.kubectl, scene.namespace, scene.image, name) for name in names]
        self.running, self.finished, self.kept, self.waiting = jobs

    def begin(self) -> Iterator[None]:
        """The last one comes once a workload has most GPUs."""
        self.running.apply(command=WAITS, **_kept_for(DAY))
        self.finished.apply(command=SUCCEEDS, **_kept_for(HOUR))
        self.kept.apply(command=WAITS, suspend=True)
        yield
        self.running.wait("Running")
        self.finished.wait("Succeeded")
        self.kept.wait("Pending", "Suspended")
        self.kept.wait_applied()
        yield
        yield
        self.waiting.apply(command=WAITS, resources=SMALL | {"gpu": 2})
        yield
        self.waiting.wait("Pending", "Unschedulable")
        self.waiting.wait_applied()

    def go_on(self) -> Iterator[None]:
        """The running one ends, the suspended one runs, and the waiting one gets its GPUs."""
        self.running.end()
        self.kept.apply(suspend=False)
        yield
        self.running.wait("Succeeded")
        self.kept.wait("Running")
        self.waiting.wait("Running")

    def expire(self) -> Iterator[None]:
        """The finished one leaves neither pod nor volume."""
        yield
        self.finished.wait_gone("pod", self.finished.pod)
        self.finished.wait_gone("pvc", self.finished.claim)
        assert self.running.get("pvc", self.running.claim)

    def go_back(self) -> Iterator[None]:
        """One ends, one is deleted, and one that has ended expires earlier than it was to."""
        self.kept.end()
        self.running.apply(**_kept_for(0))
        self.scene.api.delete("eaj", self.waiting.name, self.waiting.namespace)
        yield
        self.kept.wait("Succeeded")
        self.running.wait_gone("pod", self.running.pod)
        self.running.wait_gone("pvc", self.running.claim)
        self.waiting.wait_gone("pod", self.waiting.pod)


def _kept_for(seconds: int) -> dict[str, int]:
    return {"ttlSecondsAfterFinished": seconds, "pvcTTLSecondsAfterFinished": seconds}
