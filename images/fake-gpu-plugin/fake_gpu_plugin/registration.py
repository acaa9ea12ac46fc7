"""Stays known to the kubelet, which forgets its plugins whenever it starts."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)


class NotRegisteredError(Exception):
    """The kubelet is not there, or would not have us."""


async def keep_registered(session: Callable[[], Awaitable[None]], pause: float = 1.0) -> NoReturn:
    """Hold one session with the kubelet after the other, until cancelled.

    A kubelet that starts removes every socket in its folder, ours included, so each session begins
    with a new one.

    Args:
        session: Registers, and returns when the kubelet has gone away.
        pause: Seconds between two attempts.
    """
    said = ""
    while True:
        try:
            await session()
            log.info("the kubelet has gone away; waiting for the next")
            said = ""
        except NotRegisteredError as error:
            if str(error) != said:
                log.warning("not registered with the kubelet: %s; trying on", error)
            said = str(error)
        await asyncio.sleep(pause)
