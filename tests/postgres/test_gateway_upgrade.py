"""The gateway's database from the last landing to this checkout, and back, with jobs and bills."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.store.engine import connect, make_engine
from sqlalchemy import inspect
from support.gateway_books import act
from support.plane.release import check_out
from support.tiers.landed import landed

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

pytestmark = pytest.mark.anyio
BOOKS = "tests/support/gateway_books.py"
REVISION = "alembic_version"
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return check_out(landed().commit, tmp_path_factory.mktemp("landed") / "checkout")


async def act_as(checkout: Path, url: str, *actions: str) -> dict[str, Any]:
    """Have another release act on the database; the audit that it prints."""
    program = checkout / BOOKS
    # A release from before it was written has none of its own.
    command = [str(program if program.exists() else REPOSITORY / BOOKS), url, *actions]
    code = ":".join(str(checkout / part) for part in ("tests", "images/gateway", "."))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", *command),
        env=os.environ | {"PYTHONPATH": code},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, error = await process.communicate()
    assert process.returncode == 0, error.decode()
    found: dict[str, Any] = json.loads(said)
    return found


async def rows(url: str) -> Rows:
    """What every table holds, in whatever columns there are."""

    def read(connection: Connection) -> Rows:
        found: Rows = {}
        for table in inspect(connection).get_table_names():
            answer = connection.exec_driver_sql(f'SELECT * FROM "{table}"')  # noqa: S608 - one of ours
            found[table] = sorted(map(dict, answer.mappings()), key=str)
        return found

    engine = make_engine(url)
    try:
        async with connect(engine) as connection:
            return await connection.run_sync(read)
    finally:
        await engine.dispose()


def within(before: Rows, after: Rows) -> Rows:
    """What is there afterwards, in the tables and columns of before."""
    return {
        table: sorted(({name: row[name] for name in had[0]} for row in after[table]), key=str)
        for table, had in before.items()
    }


async def test_jobs_and_bills_stay_on_the_way_to_this_checkout_and_back(
    url: str, earlier: Path
) -> None:
    begin = ("migrate=head", "fill", "charge=before", "charge=another", "audit")
    bills = await act_as(earlier, url, *begin)
    assert bills["wrong"] == []
    # Two attempts of each job, for GPUs, cores and memory.
    assert [len(bills["charges"][name]) for name in ("another", "before")] == [6, 6]
    before = await rows(url)
    (came_from,) = before.pop(REVISION)
    assert all(before.values())

    # This checkout finds the same charges, and would make them again.
    assert await act(url, "migrate=head", "audit") == bills
    assert within(before, await rows(url)) == before
    bills = await act(url, "charge=between", "audit")
    assert [charge[1:] for charge in bills["charges"]["between"]] == [
        charge[1:] for charge in bills["charges"]["before"]
    ]

    between = await rows(url)
    await act(url, f"migrate={came_from['version_num']}")
    back = await rows(url)
    assert back.pop(REVISION) == [came_from]
    assert {name: list(had[0]) for name, had in back.items()} == {
        name: list(had[0]) for name, had in before.items()
    }
    assert within(back, between) == back
    after = await act_as(earlier, url, "charge=after", "audit")
    assert len(after["charges"].pop("after")) == 6
    assert after["charges"] == bills["charges"]
    assert after["wrong"] == []
