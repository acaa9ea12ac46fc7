"""Calls of the SDK for asyncio: each in a thread of its own.

docs/decisions/0023 gives the reasons for threads.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    Begin = Callable[[], Future[Any]]

P = ParamSpec("P")
T = TypeVar("T")
Call = TypeVar("Call")
_END: Any = object()


def _begin(work: Callable[[], T]) -> Future[T]:
    """Do something in a daemon thread: a watch must not keep a program from ending."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - who awaits it gets it
            future.set_exception(error)

    threading.Thread(target=run, name="devctl", daemon=True).start()
    return future


async def _items(begin: Begin) -> AsyncIterator[Any]:
    """The items of an iterator, which is closed when its reader stops."""
    step = begin()
    source = await asyncio.wrap_future(step)
    iterator = iter(source)
    try:
        while True:
            step = _begin(lambda: next(iterator, _END))
            item = await asyncio.wrap_future(step)
            if item is _END:
                return
            yield item
    finally:
        # A generator cannot be closed while it works on a step.
        step.add_done_callback(lambda _: _begin(lambda: _close(source, iterator)))


def _close(source: Any, iterator: Any) -> None:
    if close := getattr(iterator, "close", None):
        close()
    if leave := getattr(source, "__exit__", None):
        leave(None, None, None)


@asynccontextmanager
async def _context(begin: Begin) -> AsyncIterator[Any]:
    """A context manager, entered and left in threads."""
    manager = await asyncio.wrap_future(begin())
    value = await asyncio.wrap_future(_begin(manager.__enter__))
    try:
        yield value
    except BaseException as error:
        details = (type(error), error, error.__traceback__)
        if not await asyncio.wrap_future(_begin(lambda: manager.__exit__(*details))):
            raise
    else:
        await asyncio.wrap_future(_begin(lambda: manager.__exit__(None, None, None)))


class AsyncPart:
    """A part of a client; `sync` is the part that does the work."""

    def __init__(self, sync: Any) -> None:
        """Ask nothing yet."""
        self.sync = sync


class _Method(Generic[Call]):
    """A method of a part, as asyncio calls it: `run` gets what begins the call in a thread."""

    def __init__(self, method: Callable[..., Any], run: Callable[[Begin], Any]) -> None:
        self._method, self._run, self.__doc__ = method, run, method.__doc__

    def __get__(self, part: AsyncPart, _owner: type | None = None) -> Call:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._run(lambda: _begin(lambda: self._method(part.sync, *args, **kwargs)))

        return cast("Call", call)


def awaited(method: Callable[Concatenate[Any, P], T]) -> _Method[Callable[P, Awaitable[T]]]:
    """A method that returns a value, which is awaited."""
    return _Method(method, lambda begin: asyncio.wrap_future(begin()))


def iterated(
    method: Callable[Concatenate[Any, P], Iterable[T]],
) -> _Method[Callable[P, AsyncIterator[T]]]:
    """A method whose items come with `async for`."""
    return _Method(method, _items)


def entered(
    method: Callable[Concatenate[Any, P], AbstractContextManager[T]],
) -> _Method[Callable[P, AbstractAsyncContextManager[T]]]:
    """A method that is entered with `async with`."""
    return _Method(method, _context)
