"""The agent's process: `python3 -m devctl_node_agent`."""

from __future__ import annotations

import logging
import os
import random
import secrets
import signal
import sys
import time
from functools import partial
from pathlib import Path

from devctl_node_agent.agent import Agent
from devctl_node_agent.api import ApiServer
from devctl_node_agent.cgroups import Cgroups, NoPodsError
from devctl_node_agent.gpus import Tool
from devctl_node_agent.notices import Notices
from devctl_node_agent.sampler import Sampler
from devctl_node_agent.terminals import show

log = logging.getLogger(__name__)

READY = Path("/run/node-agent/ready")
_WATCHDOG = 180
"""Seconds after which a step has hung, and the kernel ends the process: cheaper than a probe."""


def main() -> None:
    """Run until a signal; exits with 2 if the agent cannot work here."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s node-agent: %(message)s"
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    environment = os.environ
    try:
        cgroups = Cgroups(environment.get("CGROUP_ROOT", "/sys/fs/cgroup"), environment["POD_UID"])
        agent = Agent(
            environment["NODE_NAME"],
            secrets.token_hex(8),
            sampler=Sampler("/proc", cgroups, Tool.on_path(time.monotonic)),
            api=ApiServer.from_environment(environment),
            notices=Notices(partial(show, "/proc")),
            clock=time.monotonic,
            random=random.random,
        )
    except KeyError as error:
        log.error("the variable %s is not set", error)  # noqa: TRY400 - no traceback for settings
        sys.exit(2)
    except NoPodsError as error:
        log.error("%s", error)  # noqa: TRY400
        sys.exit(2)
    while True:
        signal.alarm(_WATCHDOG)
        pause = agent.step()
        if agent.is_ready:
            READY.touch()
        time.sleep(pause)


if __name__ == "__main__":
    main()
