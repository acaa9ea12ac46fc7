"""Removes what jobs have written, a while after their ends. Any replica may, at any time."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from devctl_gateway.artifacts.removal import folders, purge, set_aside
from devctl_gateway.artifacts.threads import in_thread
from devctl_gateway.cluster.objects import parse_time
from devctl_gateway.context import Context
from devctl_gateway.errors import UnavailableError
from devctl_gateway.store import jobs
from devctl_gateway.store.engine import connect
from devctl_gateway.store.rows import Row

log = logging.getLogger(__name__)

_BATCH = 500
_SLICE = 1.0
"""Seconds that a thread removes files, until it is asked whether it is to go on."""
_ROUND = 240.0
"""Seconds after which the rest is left for the next time."""


async def remove_old_artifacts(context: Context) -> None:
    """Remove what was kept long enough, and what was set aside.

    Raises:
        UnavailableError: Some could not be removed; the others were.
    """
    if not context.settings.artifacts_folder:
        return
    top = Path(context.settings.artifacts_folder)
    there = (await in_thread(folders, top)).jobs
    for at in range(0, len(there), _BATCH):
        for name in await _old_ones(context, top, there[at : at + _BATCH]):
            log.info("%s: its artifacts are removed", name)
            await in_thread(set_aside, top, name)
    until, failed = time.monotonic() + _ROUND, None
    for aside in (await in_thread(folders, top)).aside:
        try:
            while not await in_thread(purge, top, aside, _SLICE):
                if time.monotonic() >= until:
                    return
        except UnavailableError as error:
            log.warning("%s: %s", aside, error)
            failed = error
    if failed:
        raise failed


async def _old_ones(context: Context, top: Path, names: list[str]) -> list[str]:
    """Those of some folders that were kept long enough."""
    async with connect(context.engine) as connection:
        ends = await jobs.ends(connection, names)
    before = context.clock() - timedelta(days=context.settings.artifacts_days)
    found = []
    for name in names:
        if name in ends:
            ended = end_of(ends[name])
        else:
            # Its job was deleted, or is later than a backup that was restored, or of another
            # database: only its age says that nobody needs it.
            ended = await in_thread(_changed, top / name)
        if ended is not None and ended <= before:
            found.append(name)
    return found


def end_of(row: Row) -> datetime | None:
    """When a job ended; None for one that may still write."""
    if row["final"] is None:
        return None
    at = row["final"].get("finishedAt")
    found: datetime = parse_time(at) if at else row["settled_at"] or row["created_at"]
    return found


def _changed(folder: Path) -> datetime | None:
    """When a folder was last changed, which no program can set; None if it is gone."""
    try:
        at = folder.lstat().st_ctime
    except FileNotFoundError:
        return None
    return datetime.fromtimestamp(at, UTC).replace(tzinfo=None)
