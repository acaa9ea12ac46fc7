"""The program that computes all charges again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from devctl_gateway.billing.objects import unlike_objects
from devctl_gateway.billing.reconciling import differences
from devctl_gateway.cluster.client import connected
from devctl_gateway.cluster.objects import Thing
from devctl_gateway.context import now
from devctl_gateway.settings import Settings
from devctl_gateway.store.engine import connect, make_engine

_PATIENCE = 30
"""Seconds until the cluster's objects are there."""


async def reconcile(settings: Settings, *, books_only: bool, as_json: bool) -> int:
    """Print where the ledger, runs, jobs, prices and the cluster's objects differ.

    Args:
        settings: The database, and the cluster.
        books_only: Whether to leave the cluster alone.
        as_json: Whether to print an object with the key `differences`, even without any.

    Returns:
        The exit code: 1 if there is a difference.

    Raises:
        ValueError: The cluster does not answer.
    """
    jobs = {} if books_only else await _jobs(settings)
    engine = make_engine(settings.database)
    try:
        async with connect(engine) as connection:
            found = await differences(connection)
            found += await unlike_objects(connection, jobs, now())
    finally:
        await engine.dispose()
    if as_json:
        print(json.dumps({"differences": found}, indent=2))  # noqa: T201 - what was asked for
    for difference in () if as_json else found or ["no difference"]:
        print(difference)  # noqa: T201
    return int(bool(found))


async def _jobs(settings: Settings) -> Mapping[str, Thing]:
    try:
        async with (
            asyncio.timeout(_PATIENCE),
            connected(settings.kubeconfig, settings.namespace) as cluster,
        ):
            while not cluster.synced:  # noqa: ASYNC110 - it has no event for that
                await asyncio.sleep(0.1)
            return dict(cluster.jobs)
    except TimeoutError:
        raise ValueError(
            "the cluster does not answer: repeat it, or leave the cluster out with --books-only"
        ) from None
