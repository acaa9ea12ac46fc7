"""What a job's answer says of its node, its turn and its memory, and how jobs are deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.billing.reconciling import differences
from devctl_gateway.loops.retention import remove_deleted
from devctl_gateway.loops.settlement import settle
from devctl_gateway.loops.submitter import due
from devctl_gateway.store import jobs, ledger, nodes
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.tables import JOBS, NODES
from sqlalchemy import insert, update
from support.gateway_app import Gateway, running
from support.gateway_billing import moment, price, run
from support.gateway_memory import Cluster
from support.gateway_store import ROWS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    import httpx2
    from sqlalchemy.ext.asyncio import AsyncConnection

pytestmark = pytest.mark.anyio
PATH = "/gpu-workers/jobs/"
ASKED = {"job_name": "a job", "docker_image": "busybox"}
NOW = moment(10**6)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
async def api(tmp_path: Path, cluster: Cluster) -> AsyncIterator[Gateway]:
    kept = {"artifacts_claim": "kept", "artifacts_folder": str(tmp_path)}
    async with running(tmp_path, cluster=cluster, **kept) as one:
        async with begin(one.context.engine) as connection:
            await connection.execute(insert(NODES).values(ROWS[NODES]))
            await price(connection, 0)
        yield one


async def submit(client: httpx2.AsyncClient, **asked: Any) -> str:
    answer = await client.post(PATH, json=ASKED | asked)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["job_id"])


async def become(
    gateway: Gateway, cluster: Cluster, job_id: str, phase: str = "Pending", **status: Any
) -> None:
    """Have the cluster say something of a job."""
    async with connect(gateway.context.engine) as connection:
        row = await jobs.get(connection, job_id)
    assert row
    cluster.jobs[job_id] = {
        "metadata": {"name": job_id, "creationTimestamp": "2026-05-04T12:00:00Z"},
        "spec": row["spec"] | {"cancelled": row["cancelled_at"] is not None},
        "status": {"phase": phase, **status},
    }


async def shown(client: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(PATH + job_id)).json()
    return found


async def listed(client: httpx2.AsyncClient, **query: str) -> list[str]:
    items = (await client.get(PATH, params=query)).json()["items"]
    return [item["job_id"] for item in items]


@pytest.mark.parametrize(
    ("memory", "gpus", "each"), [(8191, 2, 4096), (8192, None, 8192), (1 << 20, 3, 349526)]
)
async def test_memory_is_the_number_that_was_asked_for(
    api: Gateway, memory: int, gpus: int | None, each: int
) -> None:
    async with api.user() as ada:
        asked = {"gpu_memory_required": memory} | ({} if gpus is None else {"gpu_count": gpus})
        found = await shown(ada, await submit(ada, **asked))
    assert (found["gpu_memory_required"], found["gpu_memory_per_gpu"]) == (memory, each)


async def test_a_job_from_before_says_what_its_gpus_have_together(api: Gateway) -> None:
    async with api.user() as ada:
        job_id = await submit(ada, gpu_memory_required=8191, gpu_count=2)
        async with begin(api.context.engine) as connection:
            await connection.execute(update(JOBS).values(gpu_memory_required=None))
        assert (await shown(ada, job_id))["gpu_memory_required"] == 8192


async def test_a_job_says_which_node_it_is_on(api: Gateway, cluster: Cluster) -> None:
    async with api.user() as ada:
        here, elsewhere, nowhere = [await submit(ada) for _ in range(3)]
        await become(api, cluster, here, "Running", node="one")
        await become(api, cluster, elsewhere, "Running", node="a stranger")
        found = {job_id: await shown(ada, job_id) for job_id in (here, elsewhere, nowhere)}
        assert [found[each]["node_id"] for each in found] == ["gpu-1", None, None]
        assert found[elsewhere]["node_name"] == "a stranger"
        assert await listed(ada, node_id="gpu-1") == [here]
        assert await listed(ada, node_id="gpu-2") == []


async def test_the_ids_of_nodes_are_asked_for_once(
    api: Gateway, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, ids = 0, nodes.ids

    async def counted(connection: AsyncConnection) -> Mapping[str, str]:
        nonlocal asked
        asked += 1
        return await ids(connection)

    monkeypatch.setattr(nodes, "ids", counted)
    async with api.user() as ada:
        first, second = await submit(ada), await submit(ada)
        await become(api, cluster, first, "Running", node="one")
        assert [(await shown(ada, first))["node_id"] for _ in range(3)] == ["gpu-1"] * 3
        assert asked == 1
        new = ROWS[NODES] | {"id": "gpu-2", "node_name": "two"}
        async with begin(api.context.engine) as connection:
            await connection.execute(insert(NODES).values(new))
        await become(api, cluster, second, "Running", node="two")
        assert (await shown(ada, second))["node_id"] == "gpu-2"
        assert asked == 2


async def test_a_job_that_waits_has_a_place_and_no_other(api: Gateway, cluster: Cluster) -> None:
    async with api.user() as ada, api.user("bob") as bob:
        first, new = await submit(bob), await submit(ada)
        high, queued = await submit(ada, priority="high"), await submit(ada, queue="q")
        for job_id in (first, new, high):
            await become(api, cluster, job_id, reason="Waiting")
        await become(api, cluster, queued, reason="Queued")
        cluster.line = {queued: 7}
        found = [(await shown(ada, job_id))["queue_position"] for job_id in (high, new, queued)]
        assert found == [1, 3, 7]
        assert cluster.asked == ["queue q"]
        await become(api, cluster, high, "Running", reason="Running", node="one")
        assert (await shown(ada, high))["queue_position"] is None
        assert (await shown(ada, new))["queue_position"] == 2


async def test_a_deleted_job_ends_first_and_is_gone_then(api: Gateway, cluster: Cluster) -> None:
    async with api.user() as ada:
        job_id = await submit(ada)
        await become(api, cluster, job_id, "Running")
        for _ in range(2):
            assert (await ada.delete(PATH + job_id)).status_code == 204
        # It is being ended, and shown until it has.
        assert await listed(ada) == [job_id]
        async with connect(api.context.engine) as connection:
            rows = await jobs.unfinished(connection)
        assert due(rows, cluster.jobs, api.context.clock()) == [job_id]
        await become(api, cluster, job_id, "Cancelled")
        await is_gone(ada, job_id)


async def test_a_job_that_has_ended_is_gone_at_once_and_not_cancelled(
    api: Gateway, cluster: Cluster
) -> None:
    async with api.user() as ada:
        job_id, other = await submit(ada), await submit(ada)
        await become(api, cluster, job_id, "Completed")
        assert (await ada.delete(PATH + job_id)).status_code == 204
        await is_gone(ada, job_id, other)
        async with connect(api.context.engine) as connection:
            row = await jobs.get(connection, job_id)
        assert row
        assert row["cancelled_at"] is None


async def is_gone(client: httpx2.AsyncClient, job_id: str, *others: str) -> None:
    assert await listed(client) == [*others]
    for method, more in (("GET", ""), ("GET", "/cost"), ("GET", "/logs"), ("POST", "/cancel")):
        answer = await client.request(method, f"{PATH}{job_id}{more}")
        assert answer.status_code == 404, (method, more)
    assert (await client.delete(PATH + job_id)).status_code == 204


async def test_its_object_and_files_go_once_it_is_charged_and_what_it_cost_stays(
    api: Gateway, cluster: Cluster, tmp_path: Path
) -> None:
    async with api.user() as ada:
        job_id = await submit(ada, gpu_count=1)
        (tmp_path / job_id).mkdir()
        await become(api, cluster, job_id, "Completed", runs=[run("a", 0, 3600)])
        await ada.delete(PATH + job_id)
        await remove_deleted(api.context)
        assert job_id in cluster.jobs
        assert (tmp_path / job_id).exists()
        await settle(api.context.engine, cluster.jobs, api.clock())
        await remove_deleted(api.context)
        await remove_deleted(api.context)
        assert cluster.asked == [f"delete {job_id}"]
        assert not (tmp_path / job_id).exists()
        await is_gone(ada, job_id)
        invoice = (await ada.get("/gpu-workers/invoices/2026-05")).json()
        assert {line["job_id"] for line in invoice["lines"]} == {job_id}
    async with connect(api.context.engine) as connection:
        assert len(await ledger.of_job(connection, job_id)) == 3
        assert await differences(connection) == []


async def test_nobody_elses_job_is_deleted_and_nothing_is_recorded(
    api: Gateway, cluster: Cluster
) -> None:
    async with api.user() as ada, api.user("bob") as bob, api.admin() as boss:
        job_id = await submit(ada)
        await become(api, cluster, job_id, "Running")
        assert (await bob.delete(PATH + job_id)).status_code == 404
        assert (await bob.delete(PATH + "job-0")).status_code == 404
        assert await actions(boss) == ["job.submit"]
        await ada.delete(PATH + job_id)
        await ada.delete(PATH + job_id)
        assert await actions(boss) == ["job.delete", "job.submit"]
        await become(api, cluster, job_id, "Cancelled")
        assert (await bob.delete(PATH + job_id)).status_code == 404


async def actions(admin: httpx2.AsyncClient) -> list[str]:
    entries = (await admin.get("/gpu-workers/audit/")).json()["items"]
    return [entry["action"] for entry in entries if entry["action"].startswith("job.")]


async def test_a_job_that_is_not_what_was_seen_is_not_deleted(
    api: Gateway, cluster: Cluster
) -> None:
    async with api.user() as ada:
        job_id = await submit(ada)
        await become(api, cluster, job_id, reason="Waiting")
        tag = {"If-Match": (await ada.get(PATH + job_id)).headers["etag"]}
        await become(api, cluster, job_id, "Running")
        assert (await ada.delete(PATH + job_id, headers=tag)).status_code == 412
        await become(api, cluster, job_id, reason="Waiting")
        assert (await ada.delete(PATH + job_id, headers=tag)).status_code == 204
