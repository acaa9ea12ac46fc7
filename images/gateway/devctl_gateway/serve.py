"""The processes that serve: requests, and what happens without them."""

from __future__ import annotations

import asyncio
import gc
import os
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from uvicorn.loops.auto import auto_loop_factory

from devctl_gateway.app import create_app
from devctl_gateway.cluster.client import connected
from devctl_gateway.context import Context
from devctl_gateway.listening import server
from devctl_gateway.loops.orphans import remove_orphans
from devctl_gateway.loops.registry import register_all
from devctl_gateway.loops.retention import remove_deleted, retain
from devctl_gateway.loops.running import Loop
from devctl_gateway.loops.settlement import settle_all
from devctl_gateway.loops.submitter import submit_all, submit_new
from devctl_gateway.processes import run_several
from devctl_gateway.settings import Settings
from devctl_gateway.store.engine import POOL, POOL_ASIDE, make_engine

_COLLECTED_AFTER = (20_000, 50, 100)
"""Objects, and collections of a younger generation, after which Python looks for cycles."""


def loops(context: Context) -> list[Loop]:
    """What happens without a request."""
    return [
        Loop("submissions", partial(submit_new, context), 60, context.submitted.event),
        Loop("submitter", partial(submit_all, context), 2),
        Loop("registry", partial(register_all, context, {}), 5),
        Loop("orphans", partial(remove_orphans, context, {}), 5),
        Loop("settlement", partial(settle_all, context), 5),
        Loop("removal", partial(remove_deleted, context), 5),
        Loop("retention", partial(retain, context), 300),
    ]


def serve(settings: Settings) -> int:
    """Serve until a signal ends it; the exit code.

    Raises:
        ValueError: Several processes are asked for, and no folder to count together in.
    """

    def run() -> None:
        with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
            runner.run(_serve(settings))

    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if folder:  # where it is set, a single process counts there, too
        Path(folder).mkdir(parents=True, exist_ok=True)
    elif settings.processes > 1:
        raise ValueError("set PROMETHEUS_MULTIPROC_DIR, where several GATEWAY_PROCESSES count")
    if settings.processes > 1:
        return run_several(settings.processes, run)
    run()
    return 0


async def _serve(settings: Settings) -> None:
    async with AsyncExitStack() as stack:
        engine, aside = (
            make_engine(settings.database, size // settings.processes)
            for size in (POOL, POOL_ASIDE)
        )
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
        running = loops(replace(context, engine=aside))
        tasks = [asyncio.create_task(loop.run()) for loop in running]
        try:
            await server(app, settings).serve()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
