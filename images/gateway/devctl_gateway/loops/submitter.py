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
        rows = await jobs.unfinished(connection)
    failed = None
    for wanted in due(rows, known, context.settings.namespace):
        try:
            await context.cluster.apply_job(wanted)
        except RejectedError as error:
            log.warning("%s: %s", wanted["metadata"]["name"], error)
            if wanted["metadata"]["name"] not in known:
                await _give_up(context, wanted, error.message)
        except ClusterError as error:
            log.warning("%s: %s", wanted["metadata"]["name"], error)
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


def due(rows: Iterable[Row], known: Mapping[str, Thing], namespace: str) -> list[Thing]:
    """The manifests that are to be applied.

    Args:
        rows: Jobs whose ends are not kept yet.
        known: GPUWorkerJobs by name.
        namespace: Where jobs run.
    """
    found = []
    for row in rows:
        job, cancelled = known.get(row["id"]), row["cancelled_at"] is not None
        if job is None or (cancelled and not job["spec"].get("cancelled", False)):
            found.append(manifest(row["id"], namespace, row["spec"], cancelled=cancelled))
    return found
