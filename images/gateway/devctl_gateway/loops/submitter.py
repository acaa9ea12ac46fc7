"""Makes the objects of submitted jobs: the row comes first, so none is lost, and a name is one job.

An object that is there already stays as it is, so replicas and repetitions make no second one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from devctl_gateway.cluster.objects import Thing, manifest, rejected
from devctl_gateway.context import Context
from devctl_gateway.errors import ClusterError, RejectedError
from devctl_gateway.store import jobs, runs
from devctl_gateway.store.engine import begin, connect
from devctl_gateway.store.rows import Row

log = logging.getLogger(__name__)

_BATCH = 500
"""Specs that are read at once."""


async def submit_all(context: Context) -> None:
    """Make the objects that are missing, and cancel those that are to end.

    Raises:
        ClusterError: Some could not be made; the others were.
    """
    if not context.cluster.synced:
        return
    # The cluster first: an object that is deleted from now on has its end kept before that, and so
    # its row is not read. The other way round, a job that has ended could be made again.
    known = dict(context.cluster.jobs)
    async with connect(context.engine) as connection:
        wanted = due(await jobs.unfinished(connection), known)
    failed, ids = None, [*wanted]
    for first in range(0, len(ids), _BATCH):
        async with connect(context.engine) as connection:
            specs = await jobs.specs(connection, ids[first : first + _BATCH])
        for name, spec in specs.items():
            made = manifest(name, context.settings.namespace, spec, cancelled=wanted[name])
            try:
                await context.cluster.apply_job(made)
            except RejectedError as error:
                log.warning("%s: %s", name, error)
                if name not in known:
                    await _give_up(context, made, error.message)
            except ClusterError as error:
                log.warning("%s: %s", name, error)
                failed = error
    if failed:
        raise failed


async def _give_up(context: Context, wanted: Thing, why: str) -> None:
    """Keep the end of a job that the cluster will never have."""
    name = wanted["metadata"]["name"]
    final = rejected(why, cancelled=wanted["spec"]["cancelled"])
    async with begin(context.engine) as connection:
        await runs.settle(connection, name, context.clock())
        await jobs.keep(connection, name, final)


def due(rows: Iterable[Row], known: Mapping[str, Thing]) -> dict[str, bool]:
    """The jobs whose objects are to be applied, and whether each is to end.

    Args:
        rows: Jobs whose ends are not kept yet.
        known: GPUWorkerJobs by name.
    """
    found = {}
    for row in rows:
        job, cancelled = known.get(row["id"]), bool(row["cancelled"])
        if job is None or (cancelled and not job["spec"].get("cancelled", False)):
            found[row["id"]] = cancelled
    return found
