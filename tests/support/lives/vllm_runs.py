"""VLLMRuns: serving, finished with a TTL, and waiting for GPUs; and what nodes cache for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.cache_plans import PLAN, image
from support.lives import HOUR, Life
from support.plane.content import NODES
from support.plane.scenarios import SUCCEEDS
from support.servers import wait_until
from support.vllm_runs import PLURAL, Run

from devctl.api.kinds import CACHE_PLAN, NODE_CACHE, VLLM_RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.lives import Scene

GPUS = {NODES[0]: 2}
"""What nodes are to offer."""
ITEMS = [image("any", "localhost/any:1")]
MORE = [*ITEMS, image("other", "localhost/other:1")]


class VllmRuns(Life):
    """Those of a namespace, and the cluster's plan."""

    kinds = (CACHE_PLAN, NODE_CACHE, VLLM_RUN)

    def __init__(self, scene: Scene) -> None:
        """Create nothing yet."""
        super().__init__(scene)
        names = ("serving", "served", "queued")
        self.serving, self.served, self.queued = (
            Run(scene.api, scene.namespace, name) for name in names
        )

    def begin(self) -> Iterator[None]:
        """The last one comes once the others have their GPUs."""
        self.scene.api.apply({**PLAN, "spec": {"items": ITEMS}})
        self._report()
        self.served.apply(command=["sh", "-c", SUCCEEDS], ttlSecondsAfterFinished=HOUR)
        yield
        self.serving.apply(imageName="any")
        yield
        self.served.wait("Succeeded")
        self.serving.wait("Serving")
        self.queued.apply(gpus=2)
        yield
        self.queued.wait("Pending", "GPUsTaken")
        wait_until(lambda: not self.served.claim, "its GPU is given back")

    def go_on(self) -> Iterator[None]:
        """The serving one ends, so the waiting one gets its GPUs; the plan gets an item."""
        self.serving.end()
        self.scene.api.apply({**PLAN, "spec": {"items": MORE}})
        yield
        self.serving.wait("Succeeded")
        self.queued.wait("Serving")

    def expire(self) -> Iterator[None]:
        """The finished one leaves no pod."""
        yield
        wait_until(lambda: not self.served.pod, "its pod expires")

    def go_back(self) -> Iterator[None]:
        """One is deleted while it serves, and another takes its GPUs, by the item that is new."""
        again = Run(self.scene.api, self.scene.namespace, "again")
        again.apply(imageName="other", gpus=2)
        self.scene.api.delete(PLURAL, self.queued.name, self.queued.namespace)
        yield
        again.wait("Serving")
        wait_until(lambda: not self.queued.claim, "its claim is gone")

    def _report(self) -> None:
        """Report what a node has cached, as its agent does."""
        kind = {"apiVersion": NODE_CACHE.api_version, "kind": NODE_CACHE.name}
        self.scene.api.apply(kind | {"metadata": {"name": NODES[0]}})
        line = {"name": "any", "status": "ready", "present": True}
        plural = f"{NODE_CACHE.plural}.{NODE_CACHE.group}"
        self.scene.api.patch(plural, NODES[0], {"status": {"images": [line]}}, sub="status")
