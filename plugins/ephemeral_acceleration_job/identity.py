"""The labels that say that an object is a job's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl.api.ephemeral_acceleration_job import JOB
from devctl.api.labels import MANAGED_BY, MANAGER

if TYPE_CHECKING:
    from collections.abc import Mapping


def identity(job: Mapping[str, Any]) -> dict[str, str]:
    """Who made it, and for which job.

    >>> identity({"metadata": {"name": "scan"}})["gpu.yourdomain.io/job"]
    'scan'
    """
    return {MANAGED_BY: MANAGER, JOB: str(job["metadata"]["name"])}
