"""The ResourceQuota of a user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devctl.api.kinds import DEVSERVER

# What a field of spec.quota is called in a ResourceQuota (Kubernetes' "Resource Quotas").
_COUNTED = {
    "gpus": "requests.nvidia.com/gpu",
    "cpu": "requests.cpu",
    "memory": "requests.memory",
    "storage": "requests.storage",
    "servers": f"count/{DEVSERVER.plural}.{DEVSERVER.group}",
}


def hard(quota: Mapping[str, Any]) -> dict[str, str]:
    """What a ResourceQuota bounds, as the API server stores it.

    >>> hard({"gpus": 2, "cpu": "16"})
    {'requests.nvidia.com/gpu': '2', 'requests.cpu': '16'}
    """
    return {_COUNTED[field]: str(quota[field]) for field in _COUNTED if field in quota}
