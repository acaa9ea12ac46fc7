"""Filters of the role of that name; what they do stands in plugins/ephemeral_acceleration_job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ephemeral_acceleration_job.identity import identity
from ephemeral_acceleration_job.values import ephemeral_acceleration_job_values

if TYPE_CHECKING:
    from collections.abc import Callable


class FilterModule:
    """Registers the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name to function."""
        return {
            "ephemeral_acceleration_job_identity": identity,
            "ephemeral_acceleration_job_values": ephemeral_acceleration_job_values,
        }
