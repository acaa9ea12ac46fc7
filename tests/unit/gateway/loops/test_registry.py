"""GPUWorkerNodes follow the registrations: all that are missing come, and no other stays."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, cast

import pytest
from devctl_gateway.context import Context
from devctl_gateway.loops.orphans import due, remove_orphans
from devctl_gateway.loops.registry import register_all
from devctl_gateway.settings import Settings
from devctl_gateway.store import nodes
from devctl_gateway.store.engine import begin
from devctl_gateway.store.tables import NODES
from hypothesis import given
from hypothesis import strategies as st
from support.gateway_app import Clock
from support.gateway_memory import Cluster
from support.gateway_store import AT, ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_gateway.cluster import client
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

pytestmark = pytest.mark.anyio
OURS, ORPHAN = "gpu-1", "gpu-0"
LONGEST = timedelta(seconds=300)


def worker(name: str) -> dict[str, object]:
    return {"metadata": {"name": name, "uid": name, "resourceVersion": "1"}}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(workers={name: worker(name) for name in (OURS, ORPHAN)})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def context(engine: AsyncEngine, cluster: Cluster, clock: Clock) -> Context:
    return Context(Settings(""), engine, cast("client.Cluster", cluster), clock)


async def register(engine: AsyncEngine) -> None:
    async with begin(engine) as connection:
        assert await nodes.add(connection, ROWS[NODES] | {"reported": {}})


async def test_one_without_a_registration_goes_after_a_while_and_no_other(
    engine: AsyncEngine, context: Context, cluster: Cluster, clock: Clock
) -> None:
    await register(engine)
    since: dict[str, datetime] = {}
    await remove_orphans(context, since)
    clock.ahead = LONGEST - timedelta(seconds=10)
    await remove_orphans(context, since)
    assert cluster.asked == []
    clock.ahead = LONGEST
    await remove_orphans(context, since)
    assert cluster.asked == [f"delete {ORPHAN}"]
    clock.ahead = 10 * LONGEST
    await remove_orphans(context, since)
    assert cluster.workers.keys() == {OURS}
    assert not since


async def test_one_that_is_registered_meanwhile_stays(
    engine: AsyncEngine, context: Context, cluster: Cluster, clock: Clock
) -> None:
    del cluster.workers[ORPHAN]
    since: dict[str, datetime] = {}
    await remove_orphans(context, since)
    assert since.keys() == {OURS}
    await register(engine)
    clock.ahead = LONGEST
    await remove_orphans(context, since)
    assert cluster.asked == []


async def test_one_that_is_registered_at_the_last_moment_stays(
    engine: AsyncEngine, context: Context, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    del cluster.workers[ORPHAN]
    known = nodes.ids

    async def too_early(connection: AsyncConnection) -> Mapping[str, str]:
        found = await known(connection)
        await register(engine)
        return found

    monkeypatch.setattr(nodes, "ids", too_early)
    await remove_orphans(context, {OURS: AT})
    assert cluster.asked == []


async def test_while_the_cluster_is_out_of_sight_nothing_goes_and_the_time_begins_anew(
    context: Context, cluster: Cluster, clock: Clock
) -> None:
    since: dict[str, datetime] = {}
    await remove_orphans(context, since)
    cluster.synced, clock.ahead = False, LONGEST
    await remove_orphans(context, since)
    cluster.synced = True
    await remove_orphans(context, since)
    assert cluster.asked == []


NAMES = st.sets(st.sampled_from("abcd"))


@given(st.lists(st.tuples(st.integers(0, 400), NAMES, NAMES), max_size=12))
def test_whatever_happens_one_goes_only_after_it_was_alone_for_all_that_time(
    steps: list[tuple[int, set[str], set[str]]],
) -> None:
    now, since, alone = AT, dict[str, datetime](), dict[str, timedelta]()
    for seconds, known, registered in steps:
        now += timedelta(seconds=seconds)
        orphans = known - registered
        alone = {
            name: alone[name] + timedelta(seconds=seconds) if name in alone else timedelta()
            for name in orphans
        }
        things = {name: worker(name) for name in known}
        found = due(things, registered, since, now=now, longest=LONGEST)
        assert found == sorted(name for name in orphans if alone[name] >= LONGEST)


async def test_one_that_somebody_deletes_comes_back(
    engine: AsyncEngine, context: Context, cluster: Cluster
) -> None:
    await register(engine)
    known: dict[str, dict[str, object]] = {}
    await register_all(context, known)
    await register_all(context, known)
    assert cluster.asked == [f"apply {OURS}"]
    del cluster.workers[OURS]
    await register_all(context, known)
    assert cluster.asked == [f"apply {OURS}"] * 2
