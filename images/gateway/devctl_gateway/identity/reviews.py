"""Service-account tokens of nodes' agents, which Kubernetes itself verifies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devctl.api.gpu_worker_job import NAMESPACE
from devctl_gateway.errors import UnauthenticatedError
from devctl_gateway.identity.bearer import refused

AUDIENCE = "gpu-workers"
"""What the tokens are for."""
AGENT = f"system:serviceaccount:{NAMESPACE}:imagepod-gpu-worker"
"""The account of agents."""
_NODE = "authentication.kubernetes.io/node-name"


def reviewed_node(status: Mapping[str, Any]) -> str:
    """The node whose agent a token was bound to.

    Args:
        status: Of a TokenReview for AUDIENCE.

    Raises:
        UnauthenticatedError: The token is not valid, not an agent's, or bound to no node.
    """
    if not status.get("authenticated") or AUDIENCE not in status.get("audiences", ()):
        raise refused("this service account's token is not valid here")
    user = status.get("user", {})
    if user.get("username") != AGENT:
        raise UnauthenticatedError(
            "this service account is not that of agents", f"agents have the account {AGENT}"
        )
    nodes = user.get("extra", {}).get(_NODE, ())
    if len(nodes) != 1:
        raise UnauthenticatedError(
            "this token is bound to no node",
            "mount one that belongs to the agent's pod, as the DaemonSet does",
        )
    return str(nodes[0])
