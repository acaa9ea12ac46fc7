"""API keys: whose they are, and until when."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from devctl_gateway.context import now
from devctl_gateway.errors import ConflictError
from devctl_gateway.identity.bearer import Secret, parse_bearer
from devctl_gateway.identity.keys import MOST, Issued, find_held, issue, rotate
from devctl_gateway.identity.principal import Principal, Role
from devctl_gateway.store import accounts, keys
from devctl_gateway.store.accounts import NewAccount
from devctl_gateway.store.engine import begin
from devctl_gateway.store.keys import Owner
from devctl_gateway.store.tables import KEYS, NODES
from sqlalchemy import insert, select
from support.gateway_store import ROWS

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import RowMapping
    from sqlalchemy.ext.asyncio import AsyncEngine

pytestmark = pytest.mark.anyio
NOW = now()
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
ADA, NODE = "acc-000000000001", "gpu-000000000001"
MINE = Owner(ADA)


@pytest.fixture
async def engine(empty: AsyncEngine) -> AsyncEngine:
    async with begin(empty) as connection:
        await accounts.ensure(connection, NewAccount(ADA, "issuer", "user-1", "ada", NOW))
        await connection.execute(insert(NODES).values(ROWS[NODES] | {"id": NODE}))
    return empty


async def made(
    engine: AsyncEngine, owner: Owner = MINE, expires_at: datetime | None = None
) -> Issued:
    async with begin(engine) as connection:
        return await issue(connection, owner, name="ci", now=NOW, expires_at=expires_at)


async def who(engine: AsyncEngine, text: str, at: datetime = NOW) -> Principal | None:
    secret = parse_bearer(text)
    assert isinstance(secret, Secret)
    async with begin(engine) as connection:
        held = await find_held(connection, secret, at)
        if held is not None and held.unnoted:
            await keys.note_use(connection, held.principal.key_id, at)
    return held and held.principal


async def row(engine: AsyncEngine, key: Issued) -> RowMapping:
    async with begin(engine) as connection:
        found = await keys.get(connection, key.id)
    assert found is not None
    return found


async def test_an_accounts_key_acts_as_a_user(engine: AsyncEngine) -> None:
    key = await made(engine)
    assert await who(engine, key.text) == Principal(
        ADA, "ada", frozenset({Role.USER}), account_id=ADA, key_id=key.id
    )


async def test_a_nodes_key_acts_for_that_node(engine: AsyncEngine) -> None:
    key = await made(engine, Owner(node_id=NODE))
    assert await who(engine, key.text) == Principal(
        NODE, ROWS[NODES]["node_name"], frozenset({Role.NODE}), node_id=NODE, key_id=key.id
    )


async def test_a_key_with_another_secret_is_nobodys(engine: AsyncEngine) -> None:
    one, other = await made(engine), await made(engine)
    mixed = f"gpw_{one.prefix}_{other.text.split('_', 2)[2]}"
    assert await who(engine, mixed) is None
    assert await who(engine, f"gpw_k{'0' * 11}_{'x' * 43}") is None


async def test_the_secret_is_nowhere_in_the_store(engine: AsyncEngine) -> None:
    key = await made(engine)
    async with begin(engine) as connection:
        kept = str((await connection.execute(select(KEYS))).all())
    assert key.prefix in kept
    assert key.text.split("_", 2)[2] not in kept
    assert key.text.split("_", 2)[2] not in repr(key)


async def test_a_key_ends_when_it_expires(engine: AsyncEngine) -> None:
    key = await made(engine, expires_at=NOW + DAY)
    assert await who(engine, key.text, NOW + DAY - SECOND)
    assert await who(engine, key.text, NOW + DAY) is None


async def test_a_revoked_key_ends_at_once(engine: AsyncEngine) -> None:
    key = await made(engine)
    async with begin(engine) as connection:
        assert await keys.revoke(connection, key.id, NOW)
        assert not await keys.revoke(connection, key.id, NOW)
    assert await who(engine, key.text) is None


async def test_all_keys_of_a_node_end_together(engine: AsyncEngine) -> None:
    key, mine = await made(engine, Owner(node_id=NODE)), await made(engine)
    async with begin(engine) as connection:
        assert await keys.revoke_of_node(connection, NODE, NOW) == 1
    assert await who(engine, key.text) is None
    assert await who(engine, mine.text)


@pytest.mark.parametrize("overlap", [timedelta(0), DAY], ids=str)
async def test_a_rotated_key_is_valid_for_the_overlap(
    engine: AsyncEngine, overlap: timedelta
) -> None:
    old = await made(engine)
    kept = await row(engine, old)
    async with begin(engine) as connection:
        new = await rotate(connection, kept, NOW, overlap=overlap)
    if overlap:
        assert await who(engine, old.text, NOW + overlap - SECOND)
    assert await who(engine, old.text, NOW + overlap) is None
    assert await who(engine, new.text, NOW + overlap)


async def test_rotation_makes_no_key_live_longer_than_it_should(engine: AsyncEngine) -> None:
    old = await made(engine, expires_at=NOW + DAY)
    later = NOW + DAY - SECOND
    kept = await row(engine, old)
    async with begin(engine) as connection:
        new = await rotate(connection, kept, later, overlap=DAY)
    assert (await row(engine, old))["expires_at"] == NOW + DAY
    assert new.expires_at == later + DAY


async def test_an_owner_has_a_bounded_number_of_valid_keys(engine: AsyncEngine) -> None:
    first = await made(engine)
    for _ in range(MOST - 1):
        await made(engine)
    with pytest.raises(ConflictError, match="valid keys"):
        await made(engine)
    async with begin(engine) as connection:
        await keys.revoke(connection, first.id, NOW)
    assert await made(engine)


async def test_the_last_use_is_noted_to_the_minute(engine: AsyncEngine) -> None:
    key = await made(engine)
    for seconds in (0, 59, 60):
        await who(engine, key.text, NOW + seconds * SECOND)
    assert (await row(engine, key))["last_used_at"] == NOW + 60 * SECOND
    await who(engine, key.text, NOW + 119 * SECOND)
    assert (await row(engine, key))["last_used_at"] == NOW + 60 * SECOND


@pytest.mark.parametrize("both", [{}, {"account_id": ADA, "node_id": NODE}])
def test_a_key_is_an_accounts_or_a_nodes(both: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="either"):
        Owner(**both)
