"""A cluster in memory, as the gateway sees one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Thing = dict[str, Any]


@dataclass
class Cluster:
    """What it has, and what was asked of it."""

    jobs: dict[str, Thing] = field(default_factory=dict)
    nodes: dict[str, Thing] = field(default_factory=dict)
    workers: dict[str, Thing] = field(default_factory=dict)
    requested: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    line: dict[str, int] = field(default_factory=dict)
    """Places in every queue."""
    synced: bool = True
    asked: list[str] = field(default_factory=list)

    @property
    def queues(self) -> Cluster:
        """Its queues."""
        return self

    async def places(self, queue: str) -> dict[str, int]:
        """The places in a queue."""
        self.asked.append(f"queue {queue}")
        return self.line

    async def delete_job(self, name: str) -> None:
        """Delete a job."""
        self.asked.append(f"delete {name}")
        del self.jobs[name]

    async def delete_node(self, node: Thing) -> None:
        """Delete a GPUWorkerNode."""
        name = str(node["metadata"]["name"])
        self.asked.append(f"delete {name}")
        del self.workers[name]

    async def apply_node(self, node: Thing) -> None:
        """Create or change one."""
        self.asked.append(f"apply {node['metadata']['name']}")
        self.workers[node["metadata"]["name"]] = node
