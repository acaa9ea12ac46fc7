"""A request with an Idempotency-Key is done once, however often it is sent."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.http.idempotency import REPLAYED, fingerprint
from devctl_gateway.store import requests
from devctl_gateway.store.engine import begin
from devctl_gateway.store.tables import REQUESTS
from sqlalchemy import insert, select

if TYPE_CHECKING:
    import httpx2
    from support.gateway_app import Gateway

pytestmark = pytest.mark.anyio
KEYS = "/gpu-workers/keys/"


async def create(
    client: httpx2.AsyncClient, key: str = "one", path: str = KEYS, **body: Any
) -> httpx2.Response:
    return await client.post(path, json=body or {"name": "ci"}, headers={"Idempotency-Key": key})


async def count(client: httpx2.AsyncClient) -> int:
    return len((await client.get(KEYS)).json()["items"])


async def test_a_repetition_does_nothing_and_is_answered_the_same_but_for_the_secret(
    gateway: Gateway,
) -> None:
    async with gateway.user() as user:
        first, again = await create(user), await create(user)
        assert await count(user) == 1
    assert first.json()["key"].startswith("gpw_")
    assert again.status_code == first.status_code == 201
    assert again.json() == {**first.json(), "key": None}
    assert (REPLAYED in first.headers, again.headers[REPLAYED]) == (False, "true")


async def test_no_secret_is_kept_for_repetitions(gateway: Gateway) -> None:
    async with gateway.user() as user:
        secret = (await create(user)).json()["key"]
    async with begin(gateway.context.engine) as connection:
        kept = str((await connection.execute(select(REQUESTS))).all())
    assert "ci" in kept
    assert secret.split("_", 2)[2] not in kept


async def test_many_at_once_are_one(gateway: Gateway) -> None:
    async with gateway.user() as user:
        answers = await asyncio.gather(*(create(user) for _ in range(10)))
        assert await count(user) == 1
    assert {each.status_code for each in answers} == {201}
    assert len({each.json()["id"] for each in answers}) == 1
    assert sum(each.json()["key"] is not None for each in answers) == 1


async def test_another_body_path_or_user_is_another_request(gateway: Gateway) -> None:
    async with gateway.user() as user, gateway.user("user-2") as other:
        made = await create(user)
        assert (await create(user, name="another")).status_code == 422
        rotate = f"{KEYS}{made.json()['id']}/rotate"
        assert (await create(user, path=rotate, overlap_seconds=0)).status_code == 422
        theirs = await create(other)
        assert theirs.status_code == 201
        assert theirs.json()["id"] != made.json()["id"]


async def test_after_a_failure_the_same_key_may_be_used_again(gateway: Gateway) -> None:
    async with gateway.operator() as operator:
        missing = await create(operator, name="node", node_id="gpu-000000000000")
        assert missing.status_code == 404
        assert (await create(operator)).status_code == 201


async def test_one_that_is_still_being_answered_is_said_so(gateway: Gateway) -> None:
    body = b'{"name":"ci"}'
    async with gateway.user() as user:
        mine = (await user.get("/gpu-workers/accounts/me")).json()["id"]
        async with begin(gateway.context.engine) as connection:
            await connection.execute(
                insert(REQUESTS).values(
                    actor=mine,
                    key="one",
                    fingerprint=fingerprint("POST", KEYS, "", body),
                    created_at=gateway.clock(),
                )
            )
        answer = await user.post(
            KEYS,
            content=body,
            headers={"Idempotency-Key": "one", "Content-Type": "application/json"},
        )
    assert answer.status_code == 409
    assert answer.json()["title"] == "Request in progress"


@pytest.mark.parametrize("key", ["x" * 256, "a b", "\u00e9", "\t"])
async def test_a_name_that_cannot_be_kept_is_refused(gateway: Gateway, key: str) -> None:
    async with gateway.user() as user:
        answer = await user.post(
            KEYS, json={"name": "ci"}, headers={b"Idempotency-Key": key.encode()}
        )
    assert answer.status_code == 422


async def test_old_requests_are_forgotten_a_few_at_a_time(gateway: Gateway) -> None:
    async with gateway.user() as user:
        for name in ("one", "two", "three"):
            await create(user, name)
    later = gateway.clock() + timedelta(seconds=1)
    async with begin(gateway.context.engine) as connection:
        assert await requests.forget(connection, later, 2) == 2
        assert await requests.forget(connection, later, 2) == 1
        assert await requests.forget(connection, later, 2) == 0


def test_parts_of_a_request_do_not_run_into_each_other() -> None:
    assert fingerprint("POST", "/a", "b", b"") != fingerprint("POST", "/ab", "", b"")
