"""The plugin's process."""

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
"""The kubelet's folder for plugins, as its API defines it."""


def main() -> None:
    """Run the plugin: exits with 0 after SIGTERM, with 2 if the settings are invalid."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s fake-gpu-plugin: %(message)s"
    )
    try:
        names = devices.names(devices.count_from(os.environ))
    except ValueError as error:
        log.error("%s", error)  # noqa: TRY400 - invalid settings need no traceback
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
        log.info("stopped by a signal; the simulated devices disappear")
