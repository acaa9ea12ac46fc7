"""Runs the plugin as a process."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import signal
import sys
from pathlib import Path

from fake_gpu_plugin import devices
from fake_gpu_plugin.registration import keep_registered
from fake_gpu_plugin.session import session

log = logging.getLogger(__name__)

FOLDER = Path("/var/lib/kubelet/device-plugins")
"""Where the kubelet looks for plugins; its API names this path."""


def main() -> None:
    """Run as a process: 0 after SIGTERM, 2 where the settings are wrong."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s fake-gpu-plugin: %(message)s"
    )
    try:
        names = devices.names(devices.count_from(os.environ))
    except ValueError as error:
        log.error("%s", error)  # noqa: TRY400 - the settings are wrong, not the code
        sys.exit(2)

    async def until_signal() -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - for the type checker
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel)
        await keep_registered(functools.partial(session, FOLDER, names))

    try:
        asyncio.run(until_signal())
    except asyncio.CancelledError:
        log.info("ended by a signal; the made-up devices go away")
