"""What a server or a job uses as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from devctl.api.quantities import GPU, GPU_BY_CLAIM
from devctl.client.objects import mapping, number
from devctl.client.servers import Server

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from devctl.client.jobs.job import Job
    from devctl.client.monitor import Sample, Usage
    from devctl.kube.cluster import Object


@dataclass(frozen=True)
class Load:
    """A server or a job, and what all its replicas use together; jobs are not measured."""

    item: Server | Job
    samples: Sequence[Sample] = ()

    @property
    def name(self) -> str:
        """The name of the server or job."""
        return self.item.name

    @property
    def namespace(self) -> str:
        """The namespace that it is in."""
        return self.item.namespace

    @property
    def raw(self) -> Object:
        """The object as the API server returned it."""
        return self.item.raw

    @property
    def kind(self) -> str:
        """`server` or `job`."""
        return "server" if isinstance(self.item, Server) else "job"

    @property
    def idle_since(self) -> datetime | None:
        """Since when nothing has been done in it; None while something is, or if it is unknown."""
        return self.item.idle_since if isinstance(self.item, Server) else None

    @property
    def stops_at(self) -> datetime | None:
        """When it will be stopped unless something is done in it; None for never."""
        return self.item.stops_at if isinstance(self.item, Server) else None

    @property
    def cpu(self) -> float | None:
        """How many CPUs are busy; None if that is unknown."""
        return _sum(sample.cpu for sample in self.samples)

    @property
    def cpus(self) -> float | None:
        """How many CPUs it may use."""
        return _sum(usage.cpus for usage in self._usages)

    @property
    def memory(self) -> int | None:
        """Bytes that the kernel cannot reclaim."""
        return _whole(_sum(usage.memory for usage in self._usages))

    @property
    def memory_size(self) -> int | None:
        """Bytes that it may use."""
        return _whole(_sum(usage.memory_size for usage in self._usages))

    @property
    def gpus(self) -> int:
        """How many GPUs it requests while it runs."""
        if not isinstance(self.item, Server):
            return self.item.gpus
        requests = mapping(self.item.status.get("requests"))
        return sum(number(requests.get(name)) for name in (GPU, GPU_BY_CLAIM)) * self.item.size

    @property
    def gpu_percent(self) -> float | None:
        """How busy its GPUs are on average; None if no driver says."""
        found = [gpu.percent for usage in self._usages for gpu in usage.gpus]
        known = [percent for percent in found if percent is not None]
        return fmean(known) if known else None

    @property
    def gpu_memory(self) -> int | None:
        """Bytes of its GPUs' memory that are used."""
        found = (gpu.memory for usage in self._usages for gpu in usage.gpus)
        return _whole(_sum(found))

    @property
    def gpu_memory_size(self) -> int | None:
        """Bytes that its GPUs have."""
        found = (gpu.memory_size for usage in self._usages for gpu in usage.gpus)
        return _whole(_sum(found))

    @property
    def problems(self) -> Sequence[str]:
        """Which replicas are not included, and why."""
        return [f"{each.pod}: {each.problem}" for each in self.samples if each.problem]

    def document(self) -> dict[str, Any]:
        """All of it for JSON."""
        item = self.item
        return {
            "kind": self.kind,
            "namespace": item.namespace,
            "name": item.name,
            "owner": item.owner,
            "phase": str(item.phase),
            "createdAt": _written(item.created_at),
            "idleSince": _written(self.idle_since),
            "stopsAt": _written(self.stops_at),
            "cpu": {"used": self.cpu, "limit": self.cpus},
            "memory": {"used": self.memory, "limit": self.memory_size},
            "gpus": {
                "requested": self.gpus,
                "percent": self.gpu_percent,
                "memory": {"used": self.gpu_memory, "size": self.gpu_memory_size},
            },
            "problems": list(self.problems),
        }

    @property
    def _usages(self) -> list[Usage]:
        return [sample.usage for sample in self.samples if sample.usage]


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _whole(amount: float | None) -> int | None:
    return None if amount is None else int(amount)


def _written(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
