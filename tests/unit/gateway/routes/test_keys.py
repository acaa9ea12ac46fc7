"""The endpoints of API keys: whose are shown to whom."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.store.engine import begin
from devctl_gateway.store.tables import NODES
from sqlalchemy import insert
from support.gateway_store import ROWS

if TYPE_CHECKING:
    import httpx2
    from support.gateway_app import Gateway

pytestmark = pytest.mark.anyio
KEYS = "/gpu-workers/keys/"
NODE = "gpu-000000000001"


async def make(client: httpx2.AsyncClient, **changes: Any) -> dict[str, Any]:
    answer = await client.post(KEYS, json={"name": "ci", **changes})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def listed(client: httpx2.AsyncClient, **parameters: Any) -> list[str]:
    answer = await client.get(KEYS, params=parameters)
    assert answer.status_code == 200
    assert "gpw_" not in answer.text
    return [each["id"] for each in answer.json()["items"]]


@pytest.fixture
async def node(gateway: Gateway) -> str:
    async with begin(gateway.context.engine) as connection:
        await connection.execute(insert(NODES).values(ROWS[NODES] | {"id": NODE}))
    return NODE


async def test_a_key_is_shown_once_and_opens_the_door_of_its_account(gateway: Gateway) -> None:
    async with gateway.user() as user:
        made = await make(user)
        assert await listed(user) == [made["id"]]
        mine = (await user.get("/gpu-workers/accounts/me")).json()
    async with gateway.client(made["key"]) as script:
        theirs = (await script.get("/gpu-workers/accounts/me")).json()
    assert theirs == mine


async def test_an_admins_key_is_that_of_a_user(gateway: Gateway) -> None:
    async with gateway.admin() as admin:
        made = await make(admin)
        assert (await admin.get("/gpu-workers/audit/")).status_code == 200
    async with gateway.client(made["key"]) as script:
        assert (await script.get("/gpu-workers/audit/")).status_code == 403
        assert (await script.get("/gpu-workers/accounts/")).status_code == 403


async def test_a_key_ends_after_90_days_unless_said(gateway: Gateway) -> None:
    async with gateway.user() as user:
        made, short = await make(user), await make(user, expires_in_seconds=60)
    for key, lasts in ((made, timedelta(days=90)), (short, timedelta(minutes=1))):
        began, ends = (datetime.fromisoformat(key[name]) for name in ("created_at", "expires_at"))
        assert ends - began == lasts
    gateway.clock.ahead = timedelta(seconds=61)
    async with gateway.client(short["key"]) as script:
        assert (await script.get(KEYS)).status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "x" * 256},
        {"name": "a\nb"},
        {"name": "a\u0000b"},
        {"name": "ci", "expires_in_seconds": 59},
        {"name": "ci", "expires_in_seconds": 10**9},
        {"name": "ci", "node_id": "../x"},
        {"name": "ci", "account_id": "acc-000000000001"},
        {"name": "ci", "id": "key-000000000001"},
        {"name": "ci", "hash": "0" * 64},
    ],
    ids=str,
)
async def test_what_cannot_be_asked_for_is_refused(gateway: Gateway, body: Any) -> None:
    async with gateway.user() as user:
        assert (await user.post(KEYS, json=body)).status_code == 422
        assert not await listed(user)


async def test_keys_of_somebody_else_are_not_there(gateway: Gateway) -> None:
    async with gateway.user() as user:
        made = await make(user)
    for other in (gateway.user("user-2"), gateway.operator()):
        async with other:
            assert not await listed(other)
            for answer in (
                await other.post(f"{KEYS}{made['id']}/rotate"),
                await other.delete(KEYS + made["id"]),
                await other.delete(f"{KEYS}key-000000000000"),
            ):
                assert answer.status_code == 404
    async with gateway.client(made["key"]) as script:
        assert (await script.get(KEYS)).status_code == 200


async def test_an_admin_ends_any_key(gateway: Gateway) -> None:
    async with gateway.user() as user, gateway.admin() as admin:
        made = await make(user)
        assert (await admin.delete(KEYS + made["id"])).status_code == 204
    async with gateway.client(made["key"]) as script:
        assert (await script.get(KEYS)).status_code == 401


async def test_a_key_changes_itself_alone(gateway: Gateway) -> None:
    async with gateway.user() as user:
        one, other = await make(user), await make(user)
    async with gateway.client(one["key"]) as script:
        assert (await script.post(KEYS, json={"name": "more"})).status_code == 403
        assert (await script.post(f"{KEYS}{other['id']}/rotate")).status_code == 403
        assert (await script.delete(KEYS + other["id"])).status_code == 403
        new = await script.post(f"{KEYS}{one['id']}/rotate", json={"overlap_seconds": 0})
        assert new.status_code == 201
        assert (await script.get(KEYS)).status_code == 401
    async with gateway.client(new.json()["key"]) as script:
        assert (await script.delete(KEYS + new.json()["id"])).status_code == 204
        assert (await script.get(KEYS)).status_code == 401


async def test_a_key_that_has_ended_is_not_rotated(gateway: Gateway) -> None:
    async with gateway.user() as user:
        made = await make(user)
        assert (await user.delete(KEYS + made["id"])).status_code == 204
        assert (await user.delete(KEYS + made["id"])).status_code == 204
        assert (await user.post(f"{KEYS}{made['id']}/rotate")).status_code == 409


async def test_operators_make_and_end_keys_of_nodes(gateway: Gateway, node: str) -> None:
    async with gateway.operator() as operator:
        made = await make(operator, node_id=node)
        assert made["expires_at"] is None
        assert await listed(operator, node_id=node) == [made["id"]]
        assert not await listed(operator)
        missing = {"name": "x", "node_id": "gpu-00000000000f"}
        assert (await operator.post(KEYS, json=missing)).status_code == 404
        async with gateway.client(made["key"]) as agent:
            assert await listed(agent) == [made["id"]]
            assert (await agent.get(KEYS, params={"node_id": "gpu-2"})).status_code == 403
            assert (await agent.get("/gpu-workers/accounts/me")).status_code == 403
            assert (await operator.delete(KEYS + made["id"])).status_code == 204
            assert (await agent.get(KEYS)).status_code == 401


async def test_users_have_no_keys_of_nodes(gateway: Gateway, node: str) -> None:
    async with gateway.operator() as operator:
        made = await make(operator, node_id=node)
    async with gateway.user() as user:
        assert (await user.post(KEYS, json={"name": "x", "node_id": node})).status_code == 403
        assert (await user.get(KEYS, params={"node_id": node})).status_code == 403
        assert (await user.delete(KEYS + made["id"])).status_code == 404


async def test_pages_show_each_key_once_the_newest_first(gateway: Gateway) -> None:
    async with gateway.user() as user:
        made = [(await make(user))["id"] for _ in range(5)]
        seen: list[str] = []
        cursor = ""
        while cursor is not None:
            answer = (await user.get(KEYS, params={"limit": 2, "cursor": cursor})).json()
            seen += [each["id"] for each in answer["items"]]
            cursor = answer["next_cursor"]
    assert seen == made[::-1]


@pytest.mark.parametrize("parameters", [{"limit": 0}, {"limit": 201}, {"cursor": "nonsense"}])
async def test_pages_are_bounded(gateway: Gateway, parameters: dict[str, Any]) -> None:
    async with gateway.user() as user:
        assert (await user.get(KEYS, params=parameters)).status_code == 422
