"""What no user's pod reaches, where the network plugin enforces policies."""

from __future__ import annotations

UNREACHED = {
    "reach a pod of another user": "pod",
    "reach a service of another user by its name": "service",
    "reach a node": "node",
    "reach the node's metadata": "metadata",
    "reach the API server from a pod": "api",
}
"""By what is tried: a word for where."""
