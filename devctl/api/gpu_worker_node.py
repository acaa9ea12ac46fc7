"""GPUWorkerNode: a node of the GPU workers API as the gateway knows it, and what its Node says.

Cluster-scoped; its name is the node's ID. The gateway alone writes its spec. A process of the
observer's program writes labels and job slots of the Node, and the status.
"""

from __future__ import annotations

from enum import StrEnum

from devctl.api.gpu_worker_job import GROUP, VERSION

API_VERSION = f"{GROUP}/{VERSION}"
KIND, PLURAL = "GPUWorkerNode", "gpuworkernodes"

STATE = f"{GROUP}/worker"
"""Label of a Node: the state of its GPUWorkerNode. New jobs only go where it is `active`."""
GPU_MEMORY = f"{GROUP}/gpu-memory-megabytes"
"""Label of a Node: the memory of each of its GPUs, in megabytes, for the operator `Gt`."""


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
