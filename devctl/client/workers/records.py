"""What the GPU workers API answers. Money is decimal text, memory is in megabytes."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - msgspec reads it
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")
ENDED = frozenset({"completed", "failed", "cancelled"})
"""The states of a job that are final."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an answer; fields that a newer release adds are left out."""

    @property
    def raw(self) -> dict[str, Any]:
        """For programs, as the API names it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class Page(Record, Generic[T], frozen=True, kw_only=True):
    """A part of a list."""

    items: list[T]
    next_cursor: str | None = None


class Free(Record, frozen=True, kw_only=True):
    """What no pod holds of a node."""

    gpus: int
    cpu_cores: int
    memory: int
    job_slots: int


class Prices(Record, frozen=True, kw_only=True):
    """What an hour on a node costs."""

    price_per_gpu_hour: str
    price_per_cpu_hour: str
    price_per_memory_gb_hour: str


class Node(Prices, frozen=True, kw_only=True):
    """A registered node."""

    id: str
    node_name: str
    hostname: str
    gpu_count: int
    gpu_type: str
    gpu_memory_total: int
    """Of each GPU."""
    cpu_cores: int
    memory_total: int
    max_concurrent_jobs: int
    state: str
    """pending, active, inactive, error or maintenance."""
    registered_at: datetime
    last_heartbeat: datetime | None = None

    @property
    def name(self) -> str:
        """Its ID."""
        return self.id


class AvailableNode(Prices, frozen=True, kw_only=True):
    """A node on which a job fits now."""

    id: str
    node_name: str
    gpu_type: str
    gpu_memory_total: int
    free: Free

    @property
    def name(self) -> str:
        """Its ID."""
        return self.id


class Available(Record, frozen=True, kw_only=True):
    """The nodes on which a job fits now, the one that suits best first."""

    items: list[AvailableNode]
    reason: str = ""
    """Why there is none."""


class WorkerJob(Record, frozen=True, kw_only=True):
    """A job at one moment."""

    job_id: str
    job_name: str
    docker_image: str
    """Without its tag."""
    docker_tag: str
    """Or its digest."""
    gpu_count: int
    gpu_memory_required: int
    """Of all its GPUs together."""
    cpu_cores_required: int
    memory_required: int
    state: str
    """pending, scheduled, running, completed, failed or cancelled."""
    created_at: datetime
    currency: str
    reason: str | None = None
    message: str | None = None
    node_name: str | None = None
    node_id: str | None = None
    queue_position: int | None = None
    """Its place among those that wait for the same; 1 is next."""
    gpu_memory_per_gpu: int = 0
    command: list[str] | None = None
    args: list[str] | None = None
    queue: str | None = None
    priority: str = "normal"
    retries: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    cost: str | None = None
    """Until now; None in lists."""
    reported: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """Its ID."""
        return self.job_id

    @property
    def image(self) -> str:
        """The reference of its image."""
        return f"{self.docker_image}{'@' if ':' in self.docker_tag else ':'}{self.docker_tag}"

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        return self.state in ENDED


class CostLine(Record, frozen=True, kw_only=True):
    """What was held of one kind: gpu, core or gigabyte."""

    kind: str
    quantity: int
    """In seconds: of GPUs, of cores, or of megabytes."""
    price: str
    """Of an hour of a GPU, a core or a gigabyte."""
    amount: str


class Cost(Record, frozen=True, kw_only=True):
    """What a job costs."""

    job_id: str
    currency: str
    amount: str
    final: bool
    """Whether it stays as it is."""
    lines: list[CostLine]


class Balance(Record, frozen=True, kw_only=True):
    """What an account has left."""

    currency: str
    settled: str
    """Credit less charges."""
    open: str
    """What its jobs cost that is not charged yet."""
    left: str


class InvoiceLine(CostLine, frozen=True, kw_only=True):
    """What a job has held of one kind in a month, at one price."""

    job_id: str


class Invoice(Record, frozen=True, kw_only=True):
    """An account's month."""

    account_id: str
    month: str
    currency: str
    lines: list[InvoiceLine]
    charged: str
    credited: str


class Key(Record, frozen=True, kw_only=True):
    """An API key, without its secret."""

    id: str
    prefix: str
    name: str
    """What it is for."""
    created_at: datetime
    node_id: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


class MadeKey(Key, frozen=True, kw_only=True):
    """A new API key."""

    key: str | None = None
    """What to use as a token; it is shown once."""
