"""What requests and loops work with: one per process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncEngine

from devctl_gateway.cluster.client import Cluster
from devctl_gateway.settings import Settings


def now() -> datetime:
    """The time in UTC without a zone, as tables have it."""
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(frozen=True)
class Context:
    """What there is once in a process. Routes find it as `request.app.state.context`."""

    settings: Settings
    engine: AsyncEngine
    cluster: Cluster
    clock: Callable[[], datetime] = now
