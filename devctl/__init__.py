"""Self-service PyTorch dev servers and GPU jobs on Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devctl.client.client import Client

__all__ = ["Client"]


def __getattr__(name: str) -> Any:
    """Import the SDK when it is asked for: `devctl --help` must not wait for it."""
    if name == "Client":
        from devctl.client.client import Client  # noqa: PLC0415

        return Client
    raise AttributeError(name)
