"""Random histories, without an API server; tests/plane/test_cost.py has more, with one."""

from __future__ import annotations

import asyncio
import copy
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
from support.usage_history import World

from unit.observer.running import api_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_observer.judging.model import Meta


class MemoryBooks:
    """Objects with versions."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self._version = 0

    async def create(self, _kind: Any, obj: Mapping[str, Any]) -> Mapping[str, Any]:
        name = obj["metadata"]["name"]
        if name in self.objects:
            raise api_error(HTTPStatus.CONFLICT)
        self.objects[name] = copy.deepcopy(dict(obj))
        await self.touch("", name)
        return copy.deepcopy(self.objects[name])

    async def record(
        self, _kind: Any, meta: Meta, spec: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        found = self.objects[meta.name]
        if found["metadata"]["resourceVersion"] != meta.resource_version:
            return None
        both = {**found["spec"], **copy.deepcopy(dict(spec))}
        found["spec"] = {field: value for field, value in both.items() if value is not None}
        await self.touch("", meta.name)
        return copy.deepcopy(found)

    async def list_now(self, _resource: Any, _namespace: str) -> list[Any]:
        return copy.deepcopy(list(self.objects.values()))

    async def touch(self, _namespace: str, name: str) -> None:
        self._version += 1
        self.objects[name]["metadata"]["resourceVersion"] = str(self._version)


@pytest.mark.parametrize("seed", range(12))
def test_a_history_adds_up(seed: int) -> None:
    world = World(MemoryBooks(), "lab", seed)
    asyncio.run(world.live(150))
    wanted = {line: sums for line, sums in world.oracle.sums.items() if any(sums)}
    assert asyncio.run(world.sums()) == wanted
    assert world.uncounted() == []
