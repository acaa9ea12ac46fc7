"""Lets go of the objects of jobs that have ended, and of what else is kept for a time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from devctl_gateway.artifacts.removal import remove_artifacts
from devctl_gateway.billing.runs import is_settled
from devctl_gateway.cluster.objects import Thing, parse_time
from devctl_gateway.context import Context
from devctl_gateway.loops.old_artifacts import remove_old_artifacts
from devctl_gateway.store import jobs, requests
from devctl_gateway.store.engine import begin, connect

OBJECTS = timedelta(days=7)
"""For how long the object of a job that has ended stays in the cluster."""
REQUESTS = timedelta(days=1)
"""For how long an Idempotency-Key is remembered."""
_BATCH = 500


async def retain(context: Context) -> None:
    """Delete objects and artifacts of jobs that ended long ago, and old requests."""
    now = context.clock()
    async with begin(context.engine) as connection:
        await requests.forget(connection, now - REQUESTS, _BATCH)
    if context.cluster.synced:
        await _let_go(context, now)
    await remove_old_artifacts(context)


async def _let_go(context: Context, now: datetime) -> None:
    """Delete the objects of jobs that ended long ago, if their ends are kept."""
    old = old_ones(context.cluster.jobs, now)[:_BATCH]
    async with connect(context.engine) as connection:
        kept = await jobs.kept(connection, old)
    for name in kept:
        await context.cluster.delete_job(name)


async def remove_deleted(context: Context) -> None:
    """Delete the artifacts, objects and pods of jobs that somebody has deleted and that have ended.

    Artifacts are first: without its object, a job is not looked at here again.
    """
    if not context.cluster.synced:
        return
    async with connect(context.engine) as connection:
        found = await jobs.deleted(connection, context.clock() - OBJECTS)
    for name in context.cluster.jobs.keys() & set(found):
        await remove_artifacts(context.settings, name)
        await context.cluster.delete_job(name)


def old_ones(known: Mapping[str, Thing], now: datetime) -> list[str]:
    """The names of those that ended long ago.

    Args:
        known: GPUWorkerJobs by name.
        now: The time.
    """
    return [name for name, job in known.items() if is_settled(job) and _age(job, now) >= OBJECTS]


def _age(job: Thing, now: datetime) -> timedelta:
    """How long ago it ended; one of which no time is known is as old as its object."""
    at = job["status"].get("finishedAt") or job["metadata"]["creationTimestamp"]
    return now - parse_time(at)
