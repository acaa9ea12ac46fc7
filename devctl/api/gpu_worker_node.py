"""GPUWorkerNode: a node of the GPU workers API as the gateway knows it, and what its Node says.

Cluster-scoped; its name is the node's ID. The gateway alone writes its spec. A process of the
observer's program writes labels and job slots of the Node, and the status.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.api.gpu_worker_job import GROUP, VERSION
from devctl.api.prices import parse_amount, write_amount

if TYPE_CHECKING:
    from collections.abc import Mapping

API_VERSION = f"{GROUP}/{VERSION}"
KIND, PLURAL = "GPUWorkerNode", "gpuworkernodes"

STATE = f"{GROUP}/worker"
"""Label of a Node: the state of its GPUWorkerNode. New jobs only go where it is `active`."""
GPU_MEMORY = f"{GROUP}/gpu-memory-megabytes"
"""Label of a Node: the memory of each of its GPUs, in megabytes, for the operator `Gt`."""
PRICES = f"{GROUP}/prices"
"""Label of a Node: what an hour costs there, so that nodes of one price are preferred alike."""


class State(StrEnum):
    """What the API says of a node."""

    PENDING = "pending"
    """Registered, and never heard of since, or no Node has its name."""
    ACTIVE = "active"
    INACTIVE = "inactive"
    """Three heartbeats were missed."""
    ERROR = "error"
    """Its agent says that it is not healthy."""
    MAINTENANCE = "maintenance"
    """Somebody has set it aside for this API's jobs: what runs goes on."""


CONTROLLER = "gpu-workers-nodes"
"""The name of the Deployment and service account that writes labels and slots of Nodes."""
LABELLED = "Labelled"
"""Its phase, and its condition, once its Node has what it says."""
ABSENT = "Absent"
"""Its phase while no Node has what it says."""


class Prices(NamedTuple):
    """What an hour on a node costs, in micro-units."""

    gpu: int = 0
    core: int = 0
    gigabyte: int = 0

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Prices:
        """Those of a GPUWorkerNode's spec; what it does not name costs nothing.

        >>> Prices.of({"prices": {"perGPUHour": "1.20"}})
        Prices(gpu=1200000, core=0, gigabyte=0)
        """
        given = spec.get("prices") or {}
        names = ("perGPUHour", "perCoreHour", "perGigabyteHour")
        return cls(*(parse_amount(given.get(name, 0)) for name in names))

    @property
    def label(self) -> str:
        """As the value of a label, in which one price has one text.

        >>> Prices(1_200_000, 30_000).label
        '1.20_0.03_0.00'
        """
        return "_".join(map(write_amount, self))

    def hourly(self, gpus: int, cores: int, megabytes: int) -> int:
        """What an hour of a job costs that holds so much, in 1024ths of a micro-unit: exact.

        >>> Prices(1_000_000, 30_000, 4_000).hourly(2, 4, 1024) / 1024
        2124000.0
        """
        return 1024 * (self.gpu * gpus + self.core * cores) + self.gigabyte * megabytes


NO_PRICES = Prices()
"""Of a node for which nobody has set any."""
