"""Runs endless coroutines until a condition is met; a loaded machine only takes longer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from devctl_observer.control.figures import REGISTRY
from devctl_observer.control.process import Clock
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.gpu_workload.family import GPUWorkloads
from devctl_observer.kinds.jobs.family import Jobs
from devctl_observer.kinds.servers.family import Servers
from devctl_observer.observer import Observer
from lightkube import ApiError
from lightkube.models.meta_v1 import Status

from unit.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from http import HTTPStatus

F = TypeVar("F")


def idle_observer(api: object = None, clock: Clock | None = None) -> Observer:
    """A process without watches: tests call its handlers."""
    return Observer(cast("Any", None), cast("Any", api), clock or Clock())


def _family(one: Observer, kind: type[F]) -> F:
    (found,) = (family for family in one.families if isinstance(family, kind))
    return found


def flavors_of(one: Observer) -> Flavors:
    return _family(one, Flavors)


def servers_of(one: Observer) -> Servers:
    return _family(one, Servers)


def jobs_of(one: Observer) -> Jobs:
    return _family(one, Jobs)


def workloads_of(one: Observer) -> GPUWorkloads:
    return _family(one, GPUWorkloads)


def figure(name: str, **labels: str) -> float:
    """The value of a metric, which includes all earlier tests in this process."""
    return REGISTRY.get_sample_value(f"devctl_observer_{name}", labels) or 0


def api_error(code: HTTPStatus) -> ApiError:
    return ApiError(status=Status(code=int(code), message=code.phrase))


async def until(work: Coroutine[Any, Any, None], reached: Callable[[], object]) -> None:
    """Run something until it has reached a state."""
    task = asyncio.ensure_future(work)
    with suppress(TimeoutError):
        await eventually(lambda: reached() or task.done())
    await _end(task)
    assert reached()


async def eventually(reached: Callable[[], object]) -> None:
    """Let others go on until a state is reached."""
    async with asyncio.timeout(PATIENCE):
        while not reached():  # noqa: ASYNC110 - states have no events
            await asyncio.sleep(0.01)


async def for_turns(work: Coroutine[Any, Any, None], turns: int) -> None:
    """Run something for a number of iterations of the event loop."""
    task = asyncio.ensure_future(work)
    for _ in range(turns):
        await asyncio.sleep(0)
    await _end(task)


async def for_an_hour(work: Coroutine[Any, Any, None]) -> None:
    """Run something that should do nothing more; the event loop's clock is moved meanwhile."""
    loop = asyncio.get_running_loop()
    time, ahead = loop.time, 0.0
    loop.time = lambda: time() + ahead  # type: ignore[method-assign]
    task = asyncio.ensure_future(work)
    try:
        for _ in range(360):
            ahead += 10
            # What is due is done within an iteration or two, and may have more done.
            for _ in range(5):
                await asyncio.sleep(0)
    finally:
        loop.time = time  # type: ignore[method-assign]
    await _end(task)


async def _end(task: asyncio.Future[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
