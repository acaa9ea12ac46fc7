"""Makes the objects of submitted jobs: the row comes first, so none is lost, and a name is one job.

An object that is there already stays as it is, so replicas and repetitions make no second one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from devctl_gateway.cluster.objects import Thing, manifest, rejected
from devctl_gateway.context import Context
from devctl_gateway.errors import ClusterError, RejectedError
from devctl_gateway.store import jobs, runs
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.rows import Row

log = logging.getLogger(__name__)

PATIENCE = timedelta(seconds=5)
"""How long a job is left to the process that has answered its submission."""
_BATCH = 500
"""Specs that are read at once."""


async def submit_new(context: Context) -> None:
    """Make the objects of the jobs that this process has just heard of, and end those it is to end.

    All others would be read for each of them. What fails is left to `submit_all`.

    Raises:
        ClusterError: Some could not be made; the others were.
    """
    if context.cluster.synced and (names := context.submitted.take()):
        await _see_to(context, names)


async def submit_all(context: Context) -> None:
    """Make the objects that are missing, whoever was asked for them, and cancel what is to end.

    Raises:
        ClusterError: Some could not be made; the others were.
    """
    if not context.cluster.synced:
        return
    # The cluster first: an object that is deleted from now on has its end kept before that, and so
    # its row is not read. The other way round, a job that has ended could be made again.
    known = dict(context.cluster.jobs)
    async with connect(context.engine) as connection:
        rows = await jobs.unfinished(connection)
    await _see_to(context, due(rows, known, context.clock() - PATIENCE))


async def _see_to(context: Context, names: Sequence[str]) -> None:
    failed = None
    for first in range(0, len(names), _BATCH):
        batch = names[first : first + _BATCH]
        known = {name: context.cluster.jobs.get(name) for name in batch}  # first, as above
        async with connect(context.engine) as connection:
            rows = await jobs.wanted(connection, batch)
        for row in rows:
            job = known[row["id"]]
            try:
                if job is None:
                    await _create(context, row)
                elif _is_amiss(row, job):
                    await context.cluster.cancel_job(row["id"])
            except ClusterError as error:
                log.warning("%s: %s", row["id"], error)
                failed = error
    if failed:
        raise failed


async def _create(context: Context, row: Row) -> None:
    """Make the object of a job, or keep the end of one that the cluster will never have."""
    namespace, cancelled = context.settings.namespace, bool(row["cancelled"])
    try:
        await context.cluster.create_job(
            manifest(row["id"], namespace, row["spec"], cancelled=cancelled)
        )
    except RejectedError as error:
        log.warning("%s: %s", row["id"], error)
        final = rejected(error.message, cancelled=cancelled)
        async with begin(context.engine) as connection:
            await runs.settle(connection, row["id"], context.clock())
            await jobs.keep(connection, row["id"], final)


def due(rows: Iterable[Row], known: Mapping[str, Thing], before: datetime) -> list[str]:
    """The jobs whose objects are to be made or ended.

    Args:
        rows: Jobs whose ends are not kept yet.
        known: GPUWorkerJobs by name.
        before: When a job was submitted at the latest, so that its object should be there.
    """
    return [
        row["id"]
        for row in rows
        if _is_amiss(row, job := known.get(row["id"])) and (job or row["created_at"] <= before)
    ]


def _is_amiss(row: Row, job: Thing | None) -> bool:
    """Whether a job has no object, or one that does not know that it is to end."""
    return job is None or (bool(row["cancelled"]) and not job["spec"].get("cancelled"))
