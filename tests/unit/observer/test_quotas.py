"""When the quotas of a namespace have more room than before."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from devctl_observer.watching.quotas import Quotas, Room, room
from devctl_observer.watching.store import Key
from lightkube.resources.core_v1 import ResourceQuota

from unit.observer.objects import flavor, server
from unit.observer.running import flavors_of, idle_observer, servers_of


def quota(
    version: int = 1, where: str = "dev-alice", used: dict[str, Any] | None = None, **hard: Any
) -> Room:
    status = {"hard": hard, "used": used or {}}
    metadata = {"name": "few", "namespace": where, "resourceVersion": str(version)}
    return room(msgspec.convert({"metadata": metadata, "status": status}, ResourceQuota))


def test_what_is_kept_of_a_quota() -> None:
    found = quota(pods="5", memory="2Gi", used={"pods": "3", "memory": "512Mi"})
    assert found.free == {"pods": 2, "memory": 3 * 2**29}
    assert room(ResourceQuota()) == Room("", "", {})


@pytest.mark.parametrize(
    ("old", "new", "grows"),
    [
        (None, quota(pods="5"), False),
        (quota(pods="5"), quota(pods="5", used={"pods": "1"}), False),
        (quota(pods="5", used={"pods": "1"}), quota(pods="5"), True),
        (quota(pods="5"), quota(pods="6"), True),
        (quota(pods="5", cpu="1"), quota(pods="4", cpu="1100m"), True),
        (quota(pods="5", cpu="1"), quota(pods="5"), True),
        (quota(pods="5"), quota(pods="5", cpu="1"), False),
        (quota(pods="5"), None, True),
    ],
)
def test_more_room_is_told(old: Room | None, new: Room | None, *, grows: bool) -> None:
    told: list[str] = []
    quotas = Quotas(told.append)
    before = quotas.grew("dev-alice")
    quotas.changed(old, new)
    assert told == ["dev-alice"] * grows
    assert (quotas.grew("dev-alice") != before) is grows
    assert quotas.grew("other") == before, "it identifies the start of this process"


def test_all_of_the_namespace_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    one = idle_observer()
    found: list[str] = []
    for family in one.families:
        monkeypatch.setattr(family.queue, "add", lambda key: found.append(key.name))
    servers_of(one).store.put(Key("dev-alice", "my-dev"), 1, server())
    servers_of(one).store.put(Key("dev-bob", "other"), 1, server())
    flavors_of(one).store.put(Key("", "small"), 1, flavor())
    one.quotas.changed(quota(pods="5"), quota(2, pods="6"))
    assert found == ["my-dev"]
    assert one.children.grew("dev-alice") == "2"
