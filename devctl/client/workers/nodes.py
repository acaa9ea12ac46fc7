"""Nodes of the GPU workers API."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devctl.client.workers.generated.calls import Calls
    from devctl.client.workers.generated.models import AvailableNodes, Node


class WorkerNodes:
    """The nodes that run jobs."""

    def __init__(self, api: Calls) -> None:
        """Take the API; ask nothing yet."""
        self._api = api

    def list(self, *, state: str | None = None, gpu_type: str | None = None) -> Iterator[Node]:
        """All of them, the newest first.

        Args:
            state: Only those in this state.
            gpu_type: Only those with such GPUs.
        """
        return self._api.list_nodes(state=state, gpu_type=gpu_type)

    def get(self, node_id: str) -> Node:
        """One; raises NotFoundError if there is none of this ID."""
        return self._api.get_node(node_id)

    def available(
        self,
        *,
        gpus: int | None = None,
        gpu_memory: int = 0,
        cores: int = 0,
        memory: int = 0,
        strategy: str | None = None,
    ) -> AvailableNodes:
        """Those on which a job fits now; or why there is none.

        Args:
            gpus: How many; None for 1 if it needs GPU memory, else 0.
            gpu_memory: Of all its GPUs together, in megabytes.
            cores: CPU cores.
            memory: In megabytes.
            strategy: The order: leastLoaded, packed, costOptimized or random.
        """
        return self._api.list_available_nodes(
            gpu_count=gpus,
            gpu_memory_required=gpu_memory,
            cpu_cores_required=cores,
            memory_required=memory,
            scheduling_strategy=strategy,
        )
