"""The process that serves: requests, and what happens without them."""

from __future__ import annotations

import asyncio
import gc
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from devctl_gateway.app import create_app
from devctl_gateway.cluster.client import connected
from devctl_gateway.context import Context
from devctl_gateway.listening import server
from devctl_gateway.loops.orphans import remove_orphans
from devctl_gateway.loops.registry import register_all
from devctl_gateway.loops.retention import remove_deleted, retain
from devctl_gateway.loops.running import Loop
from devctl_gateway.loops.settlement import settle_all
from devctl_gateway.loops.submitter import submit_all
from devctl_gateway.settings import Settings
from devctl_gateway.store.engine import POOL_ASIDE, make_engine

_COLLECTED_AFTER = (20_000, 50, 100)
"""Objects, and collections of a younger generation, after which Python looks for cycles."""


def loops(context: Context, submitted: asyncio.Event) -> list[Loop]:
    """What happens without a request.

    Args:
        context: Of the process.
        submitted: Set when there is a new job.
    """
    return [
        Loop("submitter", partial(submit_all, context), 2, submitted),
        Loop("registry", partial(register_all, context, {}), 5),
        Loop("orphans", partial(remove_orphans, context, {}), 5),
        Loop("settlement", partial(settle_all, context), 5),
        Loop("removal", partial(remove_deleted, context), 5),
        Loop("retention", partial(retain, context), 300),
    ]


async def serve(settings: Settings) -> None:
    """Serve until a signal ends it."""
    async with AsyncExitStack() as stack:
        engine, aside = make_engine(settings.database), make_engine(settings.database, POOL_ASIDE)
        stack.push_async_callback(engine.dispose)
        stack.push_async_callback(aside.dispose)
        cluster = await stack.enter_async_context(
            connected(settings.kubeconfig, settings.namespace)
        )
        context = Context(settings, engine, cluster, aside=aside)
        app = create_app(context)
        # A request makes thousands of objects, few of them in cycles: at its own pace, Python would
        # look through all that is here for every few requests.
        gc.freeze()
        gc.set_threshold(*_COLLECTED_AFTER)
        running = loops(replace(context, engine=aside), app.state.submitted)
        tasks = [asyncio.create_task(loop.run()) for loop in running]
        try:
            await server(app, settings).serve()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
