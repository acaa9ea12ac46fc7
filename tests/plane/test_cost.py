"""What ran is counted once, to the second and the millionth, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from lightkube import AsyncClient, KubeConfig
from support.usage_history import RealBooks, World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

EVENTS, WORLDS = 10_000, 8


@pytest.fixture
def namespaces(kubectl: Kubectl, namespace: str) -> Iterator[list[str]]:
    """Several of the test's own."""
    names = [f"{namespace}-{number}" for number in range(WORLDS)]
    for name in names:
        kubectl("create", "namespace", name)
    yield names
    kubectl("delete", "namespace", *names, "--wait=false")


def test_ten_thousand_events_are_counted_once(plane: Plane, namespaces: list[str]) -> None:
    seed = int(os.environ.get("DEVCTL_SEED", "7"))

    async def live() -> list[World]:
        config = KubeConfig.from_file(plane.account("devctl-observer"))
        client = AsyncClient(config)
        worlds = [World(RealBooks(client), name, seed + n) for n, name in enumerate(namespaces)]
        await asyncio.gather(*(world.live(EVENTS // WORLDS) for world in worlds))
        for world in worlds:
            wanted = {line: sums for line, sums in world.oracle.sums.items() if any(sums)}
            assert await world.sums() == wanted, f"DEVCTL_SEED={seed}"
        return worlds

    worlds = asyncio.run(live())
    did = sum((world.did for world in worlds), Counter[str]())
    faults = sum((world.faults for world in worlds), Counter[str]())
    assert did.total() >= EVENTS
    assert len(did) == 8, did
    assert len(faults) == 4, faults
    months = {line[0] for world in worlds for line in world.oracle.sums}
    assert len(months) > 1, "a month ends"
