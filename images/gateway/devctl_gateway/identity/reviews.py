"""Service-account tokens of nodes' agents, which Kubernetes itself verifies."""

from __future__ import annotations

from pydantic import BaseModel, Field, ValidationError

from devctl.api.gpu_worker_job import NAMESPACE
from devctl_gateway.errors import ClusterError, UnauthenticatedError
from devctl_gateway.identity.bearer import refused

AUDIENCE = "gpu-workers"
"""What the tokens are for."""
AGENT = f"system:serviceaccount:{NAMESPACE}:imagepod-gpu-worker"
"""The account of agents."""
_NODE = "authentication.kubernetes.io/node-name"


class _User(BaseModel):
    username: str = ""
    extra: dict[str, list[str]] = Field(default_factory=dict)


class _Status(BaseModel):
    authenticated: bool = False
    audiences: list[str] = Field(default_factory=list)
    user: _User = Field(default_factory=_User)


def reviewed_node(status: object) -> str:
    """The node whose agent a token was bound to.

    Args:
        status: Of a TokenReview for AUDIENCE.

    Raises:
        UnauthenticatedError: The token is not valid, not an agent's, or bound to no node.
        ClusterError: It is no such status.
    """
    try:
        found = _Status.model_validate(status, strict=True)
    except ValidationError:
        raise ClusterError(
            "the API server's answer about a service account makes no sense", "try again soon"
        ) from None
    if not found.authenticated or AUDIENCE not in found.audiences:
        raise refused("this service account's token is not valid here")
    if found.user.username != AGENT:
        raise UnauthenticatedError(
            "this service account is not that of agents", f"agents have the account {AGENT}"
        )
    nodes = found.user.extra.get(_NODE, ())
    if len(nodes) != 1:
        raise UnauthenticatedError(
            "this token is bound to no node",
            "mount one that belongs to the agent's pod, as the DaemonSet does",
        )
    return nodes[0]
