"""The ResourceQuota of a user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devctl.api.devserver_user import COUNTED


def hard(quota: Mapping[str, Any]) -> dict[str, str]:
    """What a ResourceQuota bounds, as the API server stores it.

    >>> hard({"gpus": 2, "cpu": "16"})
    {'requests.nvidia.com/gpu': '2', 'requests.cpu': '16'}
    """
    return {COUNTED[field]: str(quota[field]) for field in COUNTED if field in quota}
