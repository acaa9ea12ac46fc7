"""The endpoints of accounts and of the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.gateway_app import ISSUER, Gateway

if TYPE_CHECKING:
    import httpx2

pytestmark = pytest.mark.anyio
ACCOUNTS, AUDIT = "/gpu-workers/accounts/", "/gpu-workers/audit/"


async def me(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.get(f"{ACCOUNTS}me")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def test_everybody_sees_their_own_account(gateway: Gateway) -> None:
    async with gateway.user() as user, gateway.admin() as admin:
        mine, theirs = await me(user), await me(admin)
    assert (mine["issuer"], mine["subject"], mine["name"]) == (ISSUER, "user-1", "ada")
    assert mine["roles"] == ["user"]
    assert mine["created_at"].endswith("Z")
    assert theirs["roles"] == ["admin", "operator", "user"]
    assert mine["id"] != theirs["id"]


async def test_only_admins_see_others(gateway: Gateway) -> None:
    async with gateway.user() as user, gateway.operator() as operator:
        mine = await me(user)
        for client in (user, operator):
            for answer in (
                await client.get(ACCOUNTS),
                await client.get(ACCOUNTS + mine["id"]),
                await client.patch(ACCOUNTS + mine["id"], json={"prepaid": True}),
                await client.get(AUDIT),
            ):
                assert answer.status_code == 403
        assert (await me(user))["prepaid"] is False


async def test_an_admin_says_whose_jobs_need_credit(gateway: Gateway) -> None:
    async with gateway.user() as user, gateway.admin() as admin:
        mine = await me(user)
        for _ in range(2):
            answer = await admin.patch(ACCOUNTS + mine["id"], json={"prepaid": True})
            assert answer.json()["prepaid"] is True
        assert (await me(user))["prepaid"] is True
        assert (await admin.get(ACCOUNTS + mine["id"])).json()["prepaid"] is True
        changes = (await admin.get(AUDIT, params={"action": "account.change"})).json()["items"]
        boss = (await me(admin))["id"]
        (entry,) = changes  # the second request has changed nothing
    assert (entry["actor"], entry["target"]) == (boss, mine["id"])
    assert entry["details"] == {"prepaid": True}


@pytest.mark.parametrize(
    "body", [{}, {"prepaid": None}, {"prepaid": 7}, {"prepaid": True, "name": "x"}, [], None]
)
async def test_nothing_else_of_an_account_is_changed(gateway: Gateway, body: object) -> None:
    async with gateway.user() as user, gateway.admin() as admin:
        mine = await me(user)
        answer = await admin.patch(ACCOUNTS + mine["id"], json=body)
        assert answer.status_code == 422
        assert await me(user) == mine


async def test_an_account_that_is_not_there_is_not_found(gateway: Gateway) -> None:
    async with gateway.admin() as admin:
        assert (await admin.get(f"{ACCOUNTS}acc-000000000000")).status_code == 404
        missing = await admin.patch(f"{ACCOUNTS}acc-000000000000", json={"prepaid": True})
        assert missing.status_code == 404


async def test_accounts_are_listed_in_pages_and_by_name(gateway: Gateway) -> None:
    made = []
    for number in range(4):
        async with gateway.user(f"user-{number}") as user:
            made.append((await me(user))["id"])
    async with gateway.admin() as admin:
        made.append((await me(admin))["id"])
        seen: list[str] = []
        cursor = ""
        while cursor is not None:
            page = (await admin.get(ACCOUNTS, params={"limit": 2, "cursor": cursor})).json()
            seen += [each["id"] for each in page["items"]]
            cursor = page["next_cursor"]
        assert seen == made[::-1]
        assert len((await admin.get(ACCOUNTS, params={"name": "ada"})).json()["items"]) == 5
        assert not (await admin.get(ACCOUNTS, params={"name": "ad"})).json()["items"]


async def test_each_change_is_in_the_audit_log_with_its_request_and_without_secrets(
    gateway: Gateway,
) -> None:
    async with gateway.user() as user, gateway.admin() as admin, gateway.operator() as operator:
        made = await user.post("/gpu-workers/keys/", json={"name": "ci"})
        key = made.json()
        await user.post(f"/gpu-workers/keys/{key['id']}/rotate")
        await user.delete(f"/gpu-workers/keys/{key['id']}")
        token = (await operator.post("/gpu-workers/registration-tokens/")).json()
        await operator.delete(f"/gpu-workers/registration-tokens/{token['id']}")
        await user.delete(f"/gpu-workers/keys/{key['id']}")  # which changes nothing
        log = await admin.get(AUDIT)
        by_user = await admin.get(AUDIT, params={"actor": (await me(user))["id"]})
        first = await admin.get(AUDIT, params={"target": key["id"], "action": "key.create"})
    assert [each["action"] for each in log.json()["items"]] == [
        "registration_token.revoke",
        "registration_token.create",
        "key.revoke",
        "key.rotate",
        "key.create",
    ]
    assert len(by_user.json()["items"]) == 3
    assert first.json()["items"][0]["request_id"] == made.headers["X-Request-ID"]
    for secret in (key["key"], token["token"]):
        assert secret.split("_", 2)[2] not in log.text


async def test_a_change_that_fails_is_not_in_the_audit_log(gateway: Gateway) -> None:
    async with gateway.operator() as operator, gateway.admin() as admin:
        wanted = {"name": "x", "node_id": "gpu-000000000000"}
        assert (await operator.post("/gpu-workers/keys/", json=wanted)).status_code == 404
        assert not (await admin.get(AUDIT)).json()["items"]


async def test_the_audit_log_has_pages(gateway: Gateway) -> None:
    async with gateway.admin() as admin:
        for _ in range(5):
            await admin.post("/gpu-workers/registration-tokens/")
        seen: list[int] = []
        cursor = ""
        while cursor is not None:
            page = (await admin.get(AUDIT, params={"limit": 2, "cursor": cursor})).json()
            seen += [each["id"] for each in page["items"]]
            cursor = page["next_cursor"]
    assert len(seen) == 5
    assert seen == sorted(seen, reverse=True)


async def test_a_replica_lives_without_database_or_cluster(gateway: Gateway) -> None:
    async with gateway.client() as anybody:
        assert (await anybody.get("/healthz")).json() == {"status": "ok"}
