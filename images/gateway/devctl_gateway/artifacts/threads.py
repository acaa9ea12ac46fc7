"""Calls of the file system, in a few threads of their own.

However long a volume does not answer, requests that need none are served, and threads do not
pile up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from devctl_gateway.errors import UnavailableError

T = TypeVar("T")
_POOL = ThreadPoolExecutor(max_workers=8, thread_name_prefix="artifacts")
_PATIENCE = 30.0
"""Seconds for a call, and for its turn."""


async def in_thread(call: Callable[..., T], *arguments: object, **named: object) -> T:
    """What a call returns.

    Raises:
        UnavailableError: It fails, or takes too long; what it returns later is not used.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_PATIENCE):
            return await loop.run_in_executor(_POOL, partial(call, *arguments, **named))
    except TimeoutError:
        raise UnavailableError("the volume of artifacts does not answer", "try again") from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UnavailableError(f"the volume of artifacts fails: {why}", "try again") from error


def soon(call: Callable[[], object]) -> None:
    """Have something called that nobody waits for, such as the end of a file."""
    _POOL.submit(call)
