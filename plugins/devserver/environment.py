"""The container's environment: what torch.distributed and NCCL read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apply.environment import entries

from devctl.api.devserver import MASTER_PORT
from devctl.api.pod_spec import shape

if TYPE_CHECKING:
    from collections.abc import Mapping

_ORDINAL = {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}}


def environment(name: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of `env`, in an order that does not change.

    Args:
        name: The server's.
        spec: What its pods are made from.
    """
    nodes, per_node = shape(spec)
    distributed = spec["distributed"] if spec.get("mode") == "distributed" else {}
    values = {
        # A user's image may lack our user, whose home it would be.
        "HOME": "/home/dev",
        "WORLD_SIZE": nodes * per_node,
        "LOCAL_WORLD_SIZE": per_node,
        "NNODES": nodes,
        "MASTER_ADDR": f"{name}-0.{name}",
        "MASTER_PORT": MASTER_PORT,
        "DEVCTL_BACKEND": distributed.get("backend", "gloo"),
        **({} if spec.get("enableSSH", True) else {"DEVCTL_SSH": "off"}),
        **distributed.get("ncclSettings", {}),
    }
    return [
        {"name": "NODE_RANK", "valueFrom": _ORDINAL},
        # The rank of the pod's first process where each pod has one; torchrun sets it otherwise.
        {"name": "RANK", "valueFrom": _ORDINAL},
        *entries(dict(sorted(values.items()))),
    ]
