"""Names that others know: the driver's, those in its slices, and those on nodes."""

from __future__ import annotations

DRIVER = "canhazgpu.com"
CDI_KIND = f"{DRIVER}/gpu"
AGENT = "canhazgpu-kubeletplugin"
"""The name of the plugin's DaemonSet, of its account, and of what it writes as."""

MADE_UP = f"{DRIVER}/made-up-gpus"
"""A node's annotation: how many GPUs to make up there, if it has no real one."""
UNHEALTHY = f"{DRIVER}/unhealthy-gpus"
"""A node's annotation: indexes of GPUs that an administrator withdraws, such as `1,3`."""
TAINT = f"{DRIVER}/unhealthy"
RESERVED = f"{DRIVER}/reserved"
"""The taint of a GPU that somebody on the host has reserved; its value is who."""
UNKNOWN = f"{DRIVER}/reservations-unknown"
"""The taint of all GPUs while nobody knows which of them are reserved on the host."""

MAX_DEVICES = 64
"""Of a slice in which any device has a taint, as the API server allows."""


def device_name(index: int) -> str:
    """A GPU's name in its node's pool.

    >>> device_name(3)
    'gpu-3'
    """
    return f"gpu-{index}"
