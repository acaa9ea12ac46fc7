"""Whether a replica can answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from devctl_gateway.context import Context
from devctl_gateway.http.problems import Problem
from devctl_gateway.routes import health
from devctl_gateway.settings import Settings
from devctl_gateway.store.engine import connect, make_engine
from support.gateway_memory import Cluster

if TYPE_CHECKING:
    from pathlib import Path

    from devctl_gateway.cluster import client

pytestmark = pytest.mark.anyio


async def test_readiness_does_not_wait_for_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or replicas that are asked much would be taken out, one after the other."""
    busy, aside = (make_engine(f"sqlite+aiosqlite:///{tmp_path / 'db'}", 1) for _ in range(2))
    context = Context(Settings(""), busy, cast("client.Cluster", Cluster()), aside=aside)
    async with connect(busy):
        assert (await health.readyz(context)).status == "ok"
        monkeypatch.setattr(health, "_SECONDS", 0.01)
        async with connect(aside):
            with pytest.raises(Problem, match="database"):
                await health.readyz(context)
    await busy.dispose()
    await aside.dispose()
