"""Artifacts are kept for some days after a job's end, and no longer."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.artifacts import removal, threads
from devctl_gateway.artifacts.removal import folders, set_aside
from devctl_gateway.errors import UnavailableError
from devctl_gateway.loops import old_artifacts
from devctl_gateway.loops.old_artifacts import end_of, remove_old_artifacts
from devctl_gateway.settings import Settings
from devctl_gateway.store import tables
from devctl_gateway.store.engine import begin
from sqlalchemy import insert
from support.artifacts import JOB, OTHER, fill
from support.gateway_app import running
from support.gateway_billing import moment, prepare, text
from support.gateway_store import ROWS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from support.gateway_app import Gateway

pytestmark = pytest.mark.anyio


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    top = tmp_path / "volume"
    top.mkdir()
    fill(top)
    return top


@pytest.fixture
async def keeping(tmp_path: Path, volume: Path) -> AsyncIterator[Gateway]:
    kept = {"artifacts_claim": "kept", "artifacts_folder": str(volume)}
    async with running(tmp_path, artifacts_days=3, **kept) as one:
        yield one


async def has(gateway: Gateway, job_id: str, **row: Any) -> None:
    async with begin(gateway.context.engine) as connection:
        await connection.execute(
            insert(tables.JOBS).values(ROWS[tables.JOBS] | {"id": job_id} | row)
        )


async def left(gateway: Gateway, volume: Path, at: datetime) -> list[str]:
    """The jobs whose files are there after a round at a time."""
    gateway.clock.ahead += at - gateway.clock()
    await remove_old_artifacts(gateway.context)
    found = folders(volume)
    assert not found.aside
    return found.jobs


async def test_they_are_removed_some_days_after_the_end(keeping: Gateway, volume: Path) -> None:
    await prepare(keeping.context.engine)
    await has(keeping, JOB, final={"phase": "Failed", "finishedAt": text(3600)})
    await has(keeping, OTHER, final=None)
    end = moment(3600) + timedelta(days=3)
    assert await left(keeping, volume, end - timedelta(minutes=1)) == [JOB, OTHER]
    assert await left(keeping, volume, end) == [OTHER]
    # That one may still write.
    assert await left(keeping, volume, end + timedelta(days=300)) == [OTHER]


async def test_those_of_no_job_are_kept_as_long_from_their_last_change(
    keeping: Gateway, volume: Path
) -> None:
    now = keeping.clock()
    # A program can set that to any time, and cannot have it count.
    os.utime(volume / JOB, (0, 0))
    assert await left(keeping, volume, now + timedelta(days=2)) == [JOB, OTHER]
    assert await left(keeping, volume, now + timedelta(days=4)) == []


async def test_what_was_set_aside_is_removed_in_the_next_round(
    keeping: Gateway, volume: Path
) -> None:
    set_aside(volume, JOB)
    assert await left(keeping, volume, keeping.clock()) == [OTHER]


@pytest.mark.parametrize(
    ("final", "settled", "end"),
    [
        (None, None, None),
        ({"finishedAt": text(60)}, moment(90), moment(60)),
        ({"phase": "Cancelled"}, moment(90), moment(90)),
        ({"phase": "Cancelled"}, None, moment(0)),
    ],
    ids=["runs", "ended", "never-ran", "old"],
)
def test_the_end_of_a_job(final: Any, settled: datetime | None, end: datetime | None) -> None:
    row = {"final": final, "settled_at": settled, "created_at": moment(0)}
    assert end_of(row) == end


async def test_one_folder_that_cannot_be_removed_is_no_reason_to_keep_the_others(
    keeping: Gateway, volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_aside(volume, JOB)
    set_aside(volume, OTHER)
    removed = removal.purge
    bad = folders(volume).aside[0]

    def purge(top: Path, aside: str, seconds: float) -> bool:
        if aside == bad:
            raise PermissionError(1, "not permitted")
        return removed(top, aside, seconds)

    monkeypatch.setattr(old_artifacts, "purge", purge)
    with pytest.raises(UnavailableError, match="not permitted"):
        await remove_old_artifacts(keeping.context)
    assert folders(volume).aside == [bad]


async def test_a_round_ends_and_the_next_one_goes_on(
    keeping: Gateway, volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_aside(volume, JOB)
    monkeypatch.setattr(old_artifacts, "_ROUND", 0)
    monkeypatch.setattr(old_artifacts, "_SLICE", 0)
    await remove_old_artifacts(keeping.context)
    assert len(folders(volume).aside) == 1
    monkeypatch.undo()
    assert await left(keeping, volume, keeping.clock()) == [OTHER]


async def test_where_none_are_kept_nothing_is_looked_at(
    gateway: Gateway, keeping: Gateway, volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []

    def look(top: Path) -> removal.Folders:
        seen.append(top)
        return folders(top)

    monkeypatch.setattr(old_artifacts, "folders", look)
    await remove_old_artifacts(gateway.context)
    assert seen == []
    await remove_old_artifacts(keeping.context)
    assert set(seen) == {volume}


async def test_a_volume_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_PATIENCE", 0.01)
    hangs = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang() -> None:
        asyncio.run_coroutine_threadsafe(hangs.wait(), loop).result()

    with pytest.raises(UnavailableError, match="does not answer"):
        await threads.in_thread(hang)
    hangs.set()
    # Its thread is there for others.
    monkeypatch.undo()
    assert await threads.in_thread(lambda: 1) == 1


def test_settings_that_would_lose_files_are_refused() -> None:
    for wrong in (
        {"artifacts_claim": "kept"},
        {"artifacts_folder": "/var/lib/artifacts"},
        {"artifacts_days": -1},
    ):
        with pytest.raises(ValueError, match="ARTIFACTS"):
            Settings("", **wrong)
    found = Settings.from_environment({"GATEWAY_DATABASE": "x", "GATEWAY_ARTIFACTS_DAYS": "30"})
    assert found.artifacts_days == 30
