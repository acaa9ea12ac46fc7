"""Nodes of the GPU workers API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devctl.client.workers.api import Api, part
from devctl.client.workers.pages import all_pages
from devctl.client.workers.records import Available, Node

if TYPE_CHECKING:
    from collections.abc import Iterator


class WorkerNodes:
    """The nodes that run jobs."""

    def __init__(self, api: Api) -> None:
        """Take the API; ask nothing yet."""
        self._api = api

    def list(self) -> Iterator[Node]:
        """All of them, the newest first."""
        return all_pages(self._api, Node, "nodes/")

    def get(self, node_id: str) -> Node:
        """One; raises NotFoundError if there is none of this ID."""
        return self._api.get(Node, f"nodes/{part(node_id)}")

    def available(
        self,
        *,
        gpus: int | None = None,
        gpu_memory: int = 0,
        cores: int = 0,
        memory: int = 0,
        strategy: str | None = None,
    ) -> Available:
        """Those on which a job fits now; or why there is none.

        Args:
            gpus: How many; None for 1 if it needs GPU memory, else 0.
            gpu_memory: Of all its GPUs together, in megabytes.
            cores: CPU cores.
            memory: In megabytes.
            strategy: The order: leastLoaded, packed, costOptimized or random.
        """
        query = {
            "gpu_count": gpus,
            "gpu_memory_required": gpu_memory,
            "cpu_cores_required": cores,
            "memory_required": memory,
            "scheduling_strategy": strategy,
        }
        return self._api.get(Available, "available-nodes/", query)
