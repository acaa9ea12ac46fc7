"""The program that computes all charges again, and what the cluster's objects say beside that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from devctl_gateway.billing.objects import unlike_objects
from devctl_gateway.loops.settlement import settle
from devctl_gateway.reconcile import reconcile
from devctl_gateway.settings import Settings
from devctl_gateway.store.engine import begin, connect
from sqlalchemy import text
from support.gateway_billing import job, moment, prepare, run
from support.gateway_store import sqlite_url

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncEngine

pytestmark = pytest.mark.anyio
HOUR = 3600


async def unlike(engine: AsyncEngine, one: dict[str, Any], at: float) -> list[str]:
    async with connect(engine) as connection:
        return await unlike_objects(connection, {one["metadata"]["name"]: one}, moment(at))


async def test_a_run_that_nobody_recorded_is_found_once_it_should_be(engine: AsyncEngine) -> None:
    await prepare(engine, "job-1")
    one = job("job-1", run("a", 0, HOUR))
    assert await unlike(engine, one, HOUR + 10) == []
    (found,) = await unlike(engine, one, 2 * HOUR)
    assert "pod a: the cluster saw it end, and it is not on record" in found
    await settle(engine, {"job-1": one}, moment(2 * HOUR))
    assert await unlike(engine, one, 2 * HOUR) == []


@pytest.mark.parametrize("other", [run("a", 0, HOUR + 1), run("a", 0, HOUR, node="two")])
async def test_a_run_of_which_the_cluster_says_something_else_is_found(
    engine: AsyncEngine, other: dict[str, Any]
) -> None:
    await prepare(engine, "job-1")
    await settle(engine, {"job-1": job("job-1", run("a", 0, HOUR))}, moment(HOUR))
    (found,) = await unlike(engine, job("job-1", other), HOUR + 10)
    assert "pod a: on record is" in found


async def test_what_still_runs_or_was_not_submitted_here_is_no_difference(
    engine: AsyncEngine,
) -> None:
    await prepare(engine, "job-1")
    assert await unlike(engine, job("job-1", run("a", 0)), 9 * HOUR) == []
    assert await unlike(engine, job("job-2", run("a", 0, 1)), 9 * HOUR) == []


async def test_the_program_says_what_differs_and_its_code_is_1(
    engine: AsyncEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(sqlite_url(tmp_path))
    await prepare(engine, "job-1")
    await settle(engine, {"job-1": job("job-1", run("a", 0, HOUR))}, moment(HOUR))
    assert await reconcile(settings, books_only=True, as_json=False) == 0
    assert capsys.readouterr().out == "no difference\n"
    async with begin(engine) as connection:
        await connection.execute(text("DROP TRIGGER ledger_refuse_update"))
        await connection.execute(text("UPDATE ledger SET amount = 0 WHERE kind = 'gpu'"))
    assert await reconcile(settings, books_only=True, as_json=True) == 1
    (found,) = json.loads(capsys.readouterr().out)["differences"]
    assert found.startswith("pod a, gpu: charged is")


@pytest.mark.filterwarnings("ignore:A test tried to use socket")
async def test_a_cluster_that_is_none_is_an_error_that_says_so(
    engine: AsyncEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del engine
    monkeypatch.setattr("devctl_gateway.reconcile._PATIENCE", 0.2)
    place = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    content = {"clusters": [cluster], "contexts": [context], "current-context": "c"}
    place.write_text(json.dumps(content | {"users": [{"name": "u", "user": {}}]}))
    settings = Settings(sqlite_url(tmp_path), kubeconfig=str(place))
    with pytest.raises(ValueError, match="leave the cluster out with --books-only"):
        await reconcile(settings, books_only=False, as_json=False)
