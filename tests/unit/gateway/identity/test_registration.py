"""Who may register a node, and how often."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.errors import ForbiddenError, UnauthenticatedError
from devctl_gateway.identity.registrar import Registration
from devctl_gateway.store import registration_tokens
from devctl_gateway.store.engine import begin
from support.gateway_app import Gateway, claims, signed

pytestmark = pytest.mark.anyio
TOKENS = "/gpu-workers/registration-tokens/"
if TYPE_CHECKING:
    from devctl_gateway.identity.gate import Gate


async def token_of(gateway: Gateway, **wanted: Any) -> dict[str, Any]:
    async with gateway.operator() as operator:
        answer = await operator.post(TOKENS, json=wanted)
    assert answer.status_code == 201
    made: dict[str, Any] = answer.json()
    return made


async def leave(gateway: Gateway, bearer: str) -> Registration:
    gate: Gate = gateway.app.state.gate
    return await gate.registration([f"Bearer {bearer}"])


async def spend(gateway: Gateway, registration: Registration) -> bool:
    try:
        async with begin(gateway.context.engine) as connection:
            await registration.spend(connection, gateway.clock())
    except UnauthenticatedError:
        return False
    return True


async def test_a_token_gives_leave_to_register_any_node(gateway: Gateway) -> None:
    made = await token_of(gateway)
    assert await leave(gateway, made["token"]) == Registration(made["id"], token_id=made["id"])


@pytest.mark.parametrize("uses", [1, 3])
async def test_of_many_agents_at_once_only_as_many_as_allowed_use_a_token(
    gateway: Gateway, uses: int
) -> None:
    made = await token_of(gateway, uses=uses)
    leaves = [await leave(gateway, made["token"]) for _ in range(10)]
    spent = await asyncio.gather(*(spend(gateway, each) for each in leaves))
    assert sum(spent) == uses


async def test_a_use_is_given_back_if_the_registration_fails(gateway: Gateway) -> None:
    made = await token_of(gateway)
    registration = await leave(gateway, made["token"])

    async def fail() -> None:
        async with begin(gateway.context.engine) as connection:
            await registration.spend(connection, gateway.clock())
            raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        await fail()
    assert await spend(gateway, registration)
    assert not await spend(gateway, registration)


async def test_a_token_expires(gateway: Gateway) -> None:
    made = await token_of(gateway, expires_in_seconds=60)
    registration = await leave(gateway, made["token"])
    gateway.clock.ahead = timedelta(seconds=61)
    assert not await spend(gateway, registration)


async def test_a_revoked_token_ends_at_once(gateway: Gateway) -> None:
    made = await token_of(gateway)
    registration = await leave(gateway, made["token"])
    async with gateway.operator() as operator:
        assert (await operator.delete(TOKENS + made["id"])).status_code == 204
        assert (await operator.delete(TOKENS + made["id"])).status_code == 204
        assert (await operator.delete(f"{TOKENS}tok-000000000000")).status_code == 404
    assert not await spend(gateway, registration)


async def test_a_token_with_another_secret_is_refused(gateway: Gateway) -> None:
    one, other = await token_of(gateway), await token_of(gateway)
    with pytest.raises(UnauthenticatedError, match="this token or key is not valid"):
        await leave(gateway, f"gpw_{one['prefix']}_{other['token'].split('_', 2)[2]}")


async def test_a_token_registers_and_opens_nothing_else(gateway: Gateway) -> None:
    made = await token_of(gateway)
    async with gateway.client(made["token"]) as agent:
        for path in ("keys/", "accounts/me", "registration-tokens/"):
            assert (await agent.get(f"/gpu-workers/{path}")).status_code == 401


async def test_operators_and_admins_register_without_a_token(gateway: Gateway) -> None:
    for group in ("gpu-operators", "gpu-admins"):
        found = await leave(gateway, signed(claims(sub=group, groups=[group])))
        assert found.by.startswith("acc-")
        assert (found.node_name, found.token_id) == (None, "")
        assert await spend(gateway, found)


async def test_users_and_their_keys_register_nothing(gateway: Gateway) -> None:
    with pytest.raises(ForbiddenError):
        await leave(gateway, signed())
    async with gateway.admin() as admin:
        key = (await admin.post("/gpu-workers/keys/", json={"name": "mine"})).json()["key"]
    with pytest.raises(ForbiddenError):
        await leave(gateway, key)
    with pytest.raises(UnauthenticatedError, match="this token or key is not valid"):
        await leave(gateway, f"gpw_k{'0' * 11}_{'x' * 43}")


async def test_users_make_and_see_no_tokens(gateway: Gateway) -> None:
    made = await token_of(gateway)
    async with gateway.user() as user:
        assert (await user.post(TOKENS, json={})).status_code == 403
        assert (await user.get(TOKENS)).status_code == 403
        assert (await user.delete(TOKENS + made["id"])).status_code == 403


async def test_lists_show_no_secrets(gateway: Gateway) -> None:
    made = await token_of(gateway, uses=2)
    async with gateway.operator() as operator:
        listed = await operator.get(TOKENS)
    (shown,) = listed.json()["items"]
    assert shown == {name: made[name] for name in made if name != "token"}
    assert made["token"].split("_", 2)[2] not in listed.text
    async with begin(gateway.context.engine) as connection:
        kept = await registration_tokens.get(connection, made["id"])
    assert made["token"].split("_", 2)[2] not in str(kept)
