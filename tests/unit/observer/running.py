"""Lets endless work run for a while. No limit is a time: a loaded machine is slow, not wrong."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from devctl_observer.control.figures import REGISTRY
from devctl_observer.control.process import Clock
from devctl_observer.kinds.flavors.family import Flavors
from devctl_observer.kinds.jobs.family import Jobs
from devctl_observer.kinds.servers.family import Servers
from devctl_observer.observer import Observer
from lightkube import ApiError
from lightkube.models.meta_v1 import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from http import HTTPStatus

F = TypeVar("F")


def idle_observer(api: object = None, clock: Clock | None = None) -> Observer:
    """A process that watches nothing: what it would hear of is told to it."""
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


def figure(name: str, **labels: str) -> float:
    """What Prometheus would be told of this process, and so of all tests before."""
    return REGISTRY.get_sample_value(f"devctl_observer_{name}", labels) or 0


def api_error(code: HTTPStatus) -> ApiError:
    return ApiError(status=Status(code=int(code), message=code.phrase))


async def until(work: Coroutine[Any, Any, None], reached: Callable[[], object]) -> None:
    """Let something run until what it is to bring about is there."""
    task = asyncio.ensure_future(work)
    for _ in range(3000):
        if reached() or task.done():
            break
        await asyncio.sleep(0.01)
    await _end(task)
    assert reached()


async def for_turns(work: Coroutine[Any, Any, None], turns: int) -> None:
    """Let something run for so many turns of the event loop."""
    task = asyncio.ensure_future(work)
    for _ in range(turns):
        await asyncio.sleep(0)
    await _end(task)


async def for_a_while(work: Coroutine[Any, Any, None]) -> None:
    """Let something run that is to do nothing more."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0.1)
    await _end(task)


async def _end(task: asyncio.Future[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
