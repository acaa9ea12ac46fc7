"""Nodes and pods as the API server shows them, reduced to what the agent reads."""

from __future__ import annotations

from typing import Any

Thing = dict[str, Any]


def node(gpus: str = "2", labels: Thing | None = None, **allocatable: str) -> Thing:
    has = {"cpu": "15800m", "memory": "32Gi", "nvidia.com/gpu": gpus, **allocatable}
    addresses = [
        {"type": "InternalIP", "address": "192.0.2.1"},
        {"type": "Hostname", "address": "gpu-server-1.local"},
    ]
    return {
        "metadata": {"name": "gpu-server-1", "labels": labels or {}},
        "status": {"allocatable": has, "capacity": has, "addresses": addresses},
    }


def pod(phase: str = "Running", app: str = "other", **requests: str) -> Thing:
    named = {name.replace("gpu", "nvidia.com/gpu"): value for name, value in requests.items()}
    return {
        "metadata": {"namespace": "imagepod", "labels": {"app": app}},
        "spec": {"containers": [{"resources": {"requests": named}}]},
        "status": {"phase": phase},
    }
