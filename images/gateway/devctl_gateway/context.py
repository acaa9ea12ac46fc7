"""What requests and loops work with: one per process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncEngine

from devctl_gateway.cluster.client import Cluster
from devctl_gateway.settings import Settings
from devctl_gateway.submitted import Submitted


def now() -> datetime:
    """The time in UTC without a zone, as tables have it."""
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(frozen=True)
class Context:
    """What there is once in a process. Routes find it as `request.app.state.context`.

    Attributes:
        settings: As the environment has them.
        engine: The database.
        cluster: Where jobs run.
        clock: The time, as tables have it.
        aside: The database, by connections that requests do not take: for loops and readiness, or
            a replica that is asked too much would be taken out, and the others asked more.
        node_ids: The IDs of nodes by their names in the cluster, as far as they were asked for. A
            registration is never deleted, so what is here stays true.
        submitted: The jobs that requests were about, for the loop that makes their objects.
    """

    settings: Settings
    engine: AsyncEngine
    cluster: Cluster
    clock: Callable[[], datetime] = now
    aside: AsyncEngine | None = None
    node_ids: dict[str, str] = field(default_factory=dict)
    submitted: Submitted = field(default_factory=Submitted)
