"""Accounts are made when users first come, one for each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from devctl_gateway.identity.principal import Role
from devctl_gateway.identity.tokens import Claims
from devctl_gateway.identity.users import Users
from devctl_gateway.store import accounts
from devctl_gateway.store.engine import begin

if TYPE_CHECKING:
    from support.gateway_app import Gateway

pytestmark = pytest.mark.anyio


def user(subject: str = "user-1", name: str = "ada", issuer: str = "https://login.test") -> Claims:
    return Claims(issuer, subject, name, frozenset({Role.USER}))


async def names(gateway: Gateway) -> list[str]:
    async with begin(gateway.context.engine) as connection:
        rows = await accounts.page(connection, name=None, after=None, limit=100)
    return sorted(row["name"] for row in rows)


async def test_of_many_requests_at_once_at_several_replicas_one_makes_the_account(
    gateway: Gateway,
) -> None:
    replicas = [Users(gateway.context) for _ in range(10)]
    found = await asyncio.gather(*(each.principal(user()) for each in replicas))
    assert len({each.account_id for each in found}) == 1
    assert await names(gateway) == ["ada"]


async def test_the_same_subject_of_another_issuer_is_somebody_else(gateway: Gateway) -> None:
    users = Users(gateway.context)
    one = await users.principal(user())
    other = await users.principal(user(issuer="https://local.test"))
    assert one.account_id != other.account_id


async def test_a_new_name_is_shown_from_then_on(gateway: Gateway) -> None:
    users = Users(gateway.context)
    before = await users.principal(user())
    after = await users.principal(user(name="ada lovelace"))
    assert before.id == after.id
    assert await names(gateway) == ["ada lovelace"]


async def test_roles_are_those_of_the_token_that_is_shown(gateway: Gateway) -> None:
    users = Users(gateway.context)
    await users.principal(Claims("i", "s", "n", frozenset({Role.USER, Role.ADMIN})))
    now_a_user = await users.principal(Claims("i", "s", "n", frozenset({Role.USER})))
    assert now_a_user.roles == {Role.USER}
