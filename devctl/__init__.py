"""Self-service PyTorch dev servers and GPU jobs on Kubernetes.

The SDK is here, flat: `from devctl import Client, DevctlError`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devctl.sdk import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Import the SDK when it is asked for: `devctl --help` must not wait for it."""
    sdk = importlib.import_module("devctl.sdk")
    if name not in sdk.__all__:
        raise AttributeError(f"module `devctl` has no attribute `{name}`")
    return getattr(sdk, name)
