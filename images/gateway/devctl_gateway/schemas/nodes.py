"""Nodes, their agents, and what they report."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from devctl.api.gpu_worker_node import State
from devctl_gateway.schemas.asked import Asked
from devctl_gateway.schemas.billing import Money
from devctl_gateway.schemas.text import Id, Line
from devctl_gateway.schemas.times import Time

_LARGEST = 2**31 - 1
Name = Annotated[
    str, Field(min_length=1, max_length=253, pattern="^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
]
"""Of a Node of Kubernetes."""
Megabytes = Annotated[int, Field(ge=0, le=_LARGEST)]
Price = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?$",
        description="Of an hour, in the currency of all prices.",
        examples=["1.20"],
    ),
]


class NewNode(Asked):
    """A node that registers."""

    node_name: Name = Field(description="Its name in the cluster.")
    hostname: Annotated[Line, Field(max_length=253)]
    gpu_count: int = Field(ge=0, le=64)
    gpu_type: Line
    gpu_memory_total: Megabytes = Field(description="Memory of each GPU, in megabytes.")
    cpu_cores: int = Field(ge=1, le=4096)
    memory_total: Megabytes = Field(description="In megabytes.")
    max_concurrent_jobs: int = Field(default=1, ge=1, le=256)


class Prices(BaseModel):
    """What an hour costs."""

    price_per_gpu_hour: Money
    price_per_cpu_hour: Money
    price_per_memory_gb_hour: Money


class Node(Prices):
    """A registered node."""

    id: str
    node_name: str
    hostname: str
    gpu_count: int
    gpu_type: str
    gpu_memory_total: int
    cpu_cores: int
    memory_total: int
    max_concurrent_jobs: int
    state: State
    registered_at: Time
    last_heartbeat: Time | None


class RegisteredNode(Node):
    """What an agent learns once."""

    node_id: str
    api_key: str | None = Field(
        description="With which the node reports. It is shown this once, and null in repetitions."
    )
    heartbeat_seconds: int = Field(description="Seconds between two heartbeats.")


class NodeChange(Asked):
    """What an operator changes."""

    maintenance: bool | None = Field(
        default=None, description="Whether the node gets no new jobs; those that run go on."
    )
    max_concurrent_jobs: int | None = Field(default=None, ge=1, le=256)
    price_per_gpu_hour: Price | None = None
    price_per_cpu_hour: Price | None = None
    price_per_memory_gb_hour: Price | None = None


class Heartbeat(Asked):
    """What an agent reports."""

    node_id: Id
    gpu_memory_available: Megabytes = Field(description="Over all GPUs, in megabytes.")
    cpu_cores_available: int = Field(ge=0, le=4096)
    current_jobs: int = Field(ge=0, le=10_000)
    health_status: Literal["healthy", "unhealthy"] = "healthy"


class Heard(BaseModel):
    """The answer to a heartbeat."""

    node_id: str
    state: State
    heartbeat_seconds: int


class Reported(BaseModel):
    """What its agent reported last: shown only, as nothing is placed or billed by it."""

    gpu_memory_available: int
    cpu_cores_available: int
    current_jobs: int
    health_status: str


class Free(BaseModel):
    """What no pod holds."""

    gpus: int
    cpu_cores: int
    memory: int = Field(description="In megabytes.")
    job_slots: int


class NodeStats(BaseModel):
    """What a node does now."""

    node_id: str
    state: State
    jobs: dict[str, int] = Field(description="Jobs of this API that are or were there, by state.")
    free: Free
    reported: Reported | None
    last_heartbeat: Time | None


class AvailableNode(Prices):
    """A node on which a job fits now."""

    id: str
    node_name: str
    gpu_type: str
    gpu_memory_total: int
    free: Free


class AvailableNodes(BaseModel):
    """The nodes on which a job fits now, the one that suits best first."""

    items: list[AvailableNode]
    reason: str = Field(description="Why there is none; empty if there is one.")


class NewAgent(Asked):
    """An agent that says which one it is."""

    node_id: Id
    agent_version: Annotated[Line, Field(max_length=64)] = "unknown"


class Agent(BaseModel):
    """The agent of a node."""

    id: str
    agent_id: str
    node_id: str
    node_name: str
    agent_version: str
    registered_at: Time
    last_heartbeat: Time | None
    health_status: str | None


def reported_of(row: Any) -> Reported | None:
    """What a row says that its agent reported."""
    return Reported(**row["reported"]) if row["reported"] else None
