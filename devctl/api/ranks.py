"""The environment by which the pods of a distributed program find each other.

torch.distributed and NCCL read it, in servers as in GPU workloads.
"""

from __future__ import annotations

from typing import Any

from devctl.api.devserver import MASTER_PORT

VARIABLES = ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "NNODES", "MASTER_ADDR", "MASTER_PORT")
"""The same in every pod."""

OWN_VARIABLES = ("NODE_RANK", "RANK")
"""Different in each pod: its number, from 0."""


def shared_variables(pods: int, processes: int, master: str) -> dict[str, str | int]:
    """The values of VARIABLES.

    Args:
        pods: How many pods there are.
        processes: How many processes each is to have.
        master: The host name of rank 0.

    >>> shared_variables(2, 4, "llama-1-0.gw-llama")["WORLD_SIZE"]
    8
    """
    values = (pods * processes, processes, pods, master, MASTER_PORT)
    return dict(zip(VARIABLES, values, strict=True))


def own_variables(label: str) -> list[dict[str, Any]]:
    """The entries of a container's `env` for OWN_VARIABLES.

    RANK is correct if each pod has one process; otherwise torchrun sets it.

    Args:
        label: The label of a pod that Kubernetes sets to its number.
    """
    number = {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}
    return [{"name": name, "valueFrom": number} for name in OWN_VARIABLES]
