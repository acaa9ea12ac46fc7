"""The agent's process: `python3 -m devctl_gpu_worker_agent`."""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

from devctl_gpu_worker_agent import VERSION, nvidia, settings, shelf
from devctl_gpu_worker_agent.agent import Agent
from devctl_gpu_worker_agent.cluster import ApiServer
from devctl_gpu_worker_agent.gateway import Gateway
from devctl_gpu_worker_agent.looking import Looking

log = logging.getLogger(__name__)

_WATCHDOG = 180
"""Seconds after which a step has hung, and the kernel ends the process: cheaper than a probe."""


def main() -> None:
    """Run until a signal; exits with 2 if the agent cannot work here."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s gpu-worker-agent: %(message)s"
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        given = settings.read(os.environ)
        gateway = Gateway(given.url, Path(given.authority) if given.authority else None)
        cluster = ApiServer.from_environment(os.environ)
    except KeyError as error:
        log.error("the variable %s is not set", error)  # noqa: TRY400 - no traceback for settings
        sys.exit(2)
    except (settings.SettingError, ValueError) as error:
        log.error("%s", error)  # noqa: TRY400
        sys.exit(2)
    folder = Path(given.folder)
    files = [
        ("service account", Path(given.token_file)),
        ("registration token", Path(given.registration_file)),
    ]
    agent = Agent(
        gateway,
        Looking(given.node, cluster, nvidia.tool(), given.made_up_memory).look,
        partial(shelf.tokens, files),
        shelf.Shelf(folder / "membership.json"),
        version=VERSION,
        most_jobs=given.most_jobs,
        clock=time.monotonic,
        random=random.random,
    )
    while True:
        signal.alarm(_WATCHDOG)
        wait = agent.step()
        (folder / "alive").touch()
        if agent.is_ready:
            (folder / "ready").touch()
        time.sleep(wait)


if __name__ == "__main__":
    main()
