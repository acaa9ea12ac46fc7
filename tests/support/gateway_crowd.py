"""Everybody who may ask a gateway, and something of everybody's."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
from devctl_gateway.store import tables
from devctl_gateway.store.engine import connect
from sqlalchemy import select
from support.gateway_app import Gateway, claims, running, signed
from support.gateway_bodies import FACTS, JOB
from support.gateway_cluster import ApiServer, cluster_of, until

from devctl.api.gpu_worker_job import PLURAL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

Thing = dict[str, Any]
Rows = dict[str, list[Thing]]
API = "/gpu-workers"
ADA, ADAS_KEY, ADAS_OTHER_KEY = "ada", "ada's key", "ada's other key"
BOB, BOBS_KEY, KEEPER, BOSS = "bob", "bob's key", "operator", "admin"
ONE, TWO = "node one", "node two"
# Those who come with a key are first: a login may end it.
PEOPLE = (ADAS_KEY, ADAS_OTHER_KEY, BOBS_KEY, ONE, TWO, ADA, BOB, KEEPER, BOSS)
_GROUPS = {KEEPER: ["gpu-operators"], BOSS: ["gpu-admins"]}
FILE = "kept.txt"
PLAIN = {"month": "2026-05", "path": FILE}
"""What paths have beside IDs."""
ABSENT = PLAIN | {
    "job_id": "job-000000000000",
    "node_id": "gpu-000000000000",
    "other_node_id": "gpu-000000000001",
    "agent_id": "agent-000000000000",
    "account_id": "acc-000000000000",
    "key_id": "key-000000000000",
    "node_key_id": "key-000000000001",
    "token_id": "tok-000000000000",
}
"""IDs that nothing has."""
_TABLES = [each for each in tables.METADATA.sorted_tables if each is not tables.REQUESTS]


@dataclass(frozen=True)
class Crowd:
    """A gateway, who asks it, and what there is.

    Attributes:
        gateway: The gateway.
        server: Its cluster.
        bearers: What each of PEOPLE shows.
        ids: Ada's things, and node one's: by what paths call them; `node_key_id` as well.
    """

    gateway: Gateway
    server: ApiServer
    bearers: dict[str, str]
    ids: dict[str, str]

    async def ask(self, who: str, method: str, path: str, **more: Any) -> httpx2.Response:
        """What somebody is answered; path is without the prefix."""
        async with self.gateway.client(self.bearers[who]) as client:
            return await client.request(method, API + path, **more)

    async def made(self, who: str, path: str, body: Thing | None = None) -> Thing:
        """What somebody has made."""
        answer = await self.ask(who, "POST", path, json=body)
        assert answer.status_code == 201, answer.text
        found: Thing = answer.json()
        return found

    async def rows(self) -> Rows:
        """All that is stored, but for when keys were used."""
        async with connect(self.gateway.context.engine) as connection:
            found = {}
            for table in _TABLES:
                columns = [each for each in table.c if each.name != "last_used_at"]
                query = select(*columns).order_by(*table.primary_key)
                rows = await connection.execute(query)
                found[table.name] = [dict(row) for row in rows.mappings()]
            return found


@asynccontextmanager
async def crowd(folder: Path, url: str = "", **settings: Any) -> AsyncIterator[Crowd]:
    """A gateway with all of them: Ada's job runs on node one."""
    server, volume = ApiServer(), folder / "artifacts"
    volume.mkdir()
    many = {
        "requests_per_minute": 10**6,
        "failures_per_minute": 10**6,
        "artifacts_claim": "kept",
        "artifacts_folder": str(volume),
        **settings,
    }
    async with (
        cluster_of(server) as cluster,
        running(folder, url, cluster=cluster, **many) as gateway,
    ):
        shown = {
            who: signed(
                claims(sub=who, preferred_username=who, groups=_GROUPS.get(who, []), exp=2**32)
            )
            for who in (ADA, BOB, KEEPER, BOSS)
        }
        made = Crowd(gateway, server, shown, dict(PLAIN))
        await _fill(made)
        (volume / made.ids["job_id"]).mkdir()
        (volume / made.ids["job_id"] / FILE).write_text("Ada's")
        yield made


async def _fill(made: Crowd) -> None:
    ids = made.ids
    for who, holder in ((ADAS_KEY, ADA), (ADAS_OTHER_KEY, ADA), (BOBS_KEY, BOB)):
        key = await made.made(holder, "/keys/", {"name": who})
        made.bearers[who] = key["key"]
        ids.setdefault("key_id", key["id"])
    for who in (ONE, TWO):
        node = await made.made(KEEPER, "/nodes/register", FACTS | {"node_name": who.split()[1]})
        made.bearers[who] = node["api_key"]
        keys = await made.ask(KEEPER, "GET", "/keys/", params={"node_id": node["id"]})
        agent = await made.made(who, "/agents/register", {"node_id": node["id"]})
        ids.setdefault("node_id", node["id"])
        ids.setdefault("agent_id", agent["id"])
        ids.setdefault("node_key_id", keys.json()["items"][0]["id"])
        ids["other_node_id"] = node["id"]
    ids["token_id"] = (await made.made(KEEPER, "/registration-tokens/"))["id"]
    ids["account_id"] = (await made.ask(ADA, "GET", "/accounts/me")).json()["id"]
    for who in (BOB, BOSS):
        await made.ask(who, "GET", "/accounts/me")
    ids["job_id"] = await submit(made, ADA)


async def submit(made: Crowd, who: str, node: str = "one") -> str:
    """Somebody's job that runs on a node."""
    job_id = str((await made.made(who, "/jobs/", JOB))["job_id"])
    at = (made.gateway.clock() - timedelta(minutes=1)).isoformat(timespec="seconds") + "Z"
    run = {"podUID": f"uid-{job_id}", "podName": job_id, "node": node, "startedAt": at}
    status = {"phase": "Running", "node": node, "podName": job_id, "startedAt": at, "runs": [run]}
    server, cluster = made.server, made.gateway.context.cluster
    server.put(PLURAL, {"metadata": {"name": job_id}, "spec": {}, "status": status})
    server.answers.setdefault(f"/pods/{job_id}/log", _log)
    await until(lambda: job_id in cluster.jobs)
    return job_id


async def _log(_: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200, text="a line\n")
