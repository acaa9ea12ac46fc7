"""Which limits of administrators' apply to a server, as its page says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devctl.client.policies import limits_of
from devctl.client.servers import Server
from unit.client.objects import server

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi

POLICIES = "lifecyclepolicies"


def policy(name: str = "gpus", *, default: bool = False, **spec: Any) -> dict[str, Any]:
    limit = {"idleTimeout": {"minimum": "30m", "default": "2h", "maximum": "8h"}}
    return {
        "metadata": {"name": name},
        "spec": limit | spec,
        "status": {"coversDefault": default},
    }


def limits(api: FakeApi, flavor: str = "small") -> list[str]:
    one = Server(server(spec={"flavor": flavor, "owner": "alice@company.com"}))
    return list(limits_of(api.cluster(), one))


def test_each_policy_has_a_line(api: FakeApi) -> None:
    more: dict[str, Any] = {
        "maxRuntime": {"maximum": 86400, "required": True},
        "hold": {"maximum": "3d"},
    }
    api.add(POLICIES, policy(**more), policy("all", idleTimeout={"default": "1h"}))
    (line,) = limits(api)
    assert line == (
        "idleTimeout at least 30m and at most 8h, maxRuntime at most 86400 s and required,"
        " hold at most 3d (LifecyclePolicy `gpus`)"
    )


@pytest.mark.parametrize(
    ("spec", "flavor", "applies"),
    [
        ({}, "small", True),
        ({"flavors": ["small"]}, "small", True),
        ({"flavors": ["big"]}, "small", False),
        ({"flavors": ["big"]}, "", False),
        ({"flavors": ["big"], "default": True}, "", True),
        ({"flavors": ["big"], "default": True}, "small", False),
        ({"users": ["alice@company.com"]}, "small", True),
        ({"users": ["bob@company.com"]}, "small", False),
        ({"flavors": ["small"], "users": ["bob@company.com"]}, "small", False),
    ],
)
def test_a_policy_applies_by_flavor_and_user(
    api: FakeApi, spec: dict[str, Any], flavor: str, *, applies: bool
) -> None:
    api.add(POLICIES, policy(**spec))
    assert bool(limits(api, flavor)) is applies


@pytest.mark.parametrize("code", [403, 404])
def test_without_policies_there_are_no_limits(api: FakeApi, code: int) -> None:
    api.refusals["GET", POLICIES] = (code, "no")
    assert limits(api) == []
