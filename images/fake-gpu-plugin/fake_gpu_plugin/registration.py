"""Keeps the plugin registered with the kubelet, which forgets its plugins when it restarts."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)


class NotRegisteredError(Exception):
    """The kubelet is not running, or has refused the plugin."""


async def keep_registered(session: Callable[[], Awaitable[None]], pause: float = 1.0) -> NoReturn:
    """Hold one session with the kubelet after another, until cancelled.

    When the kubelet starts, it removes every socket in its folder, including ours, so each session
    creates a new one.

    Args:
        session: Registers, and returns when the kubelet has stopped.
        pause: Seconds between two attempts.
    """
    said = ""
    while True:
        try:
            await session()
            log.info("the kubelet has stopped; waiting for its restart")
            said = ""
        except NotRegisteredError as error:
            if str(error) != said:
                log.warning("not registered with the kubelet: %s; retrying", error)
            said = str(error)
        await asyncio.sleep(pause)
