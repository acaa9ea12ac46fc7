"""The plugin's process: `python -m devctl_dra_plugin`."""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.api.node_cache import ROOT
from devctl_dra_plugin.agreement import NoAgreement
from devctl_dra_plugin.api import ApiServer
from devctl_dra_plugin.cache_folder import is_there
from devctl_dra_plugin.claims import Claims
from devctl_dra_plugin.devices import SettingError, count_of
from devctl_dra_plugin.health import Board
from devctl_dra_plugin.inventory import Inventory, real_gpus
from devctl_dra_plugin.plugin import Plugin
from devctl_dra_plugin.server import Server, Sockets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_dra_plugin.agreement import Agreement

log = logging.getLogger(__name__)

READY = Path("/run/canhazgpu/ready")
_WATCHDOG = 180
"""Seconds after which a look has hung, and the kernel ends the process: cheaper than a probe."""


def main(environment: Mapping[str, str] = os.environ) -> None:
    """Run until a signal; exits with 2 if the settings are invalid, 1 if a socket is gone."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s canhazgpu: %(message)s"
    )
    # An exit from within runs what is to be run at the end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        node = environment["NODE_NAME"]
        made_up = count_of(environment.get("MADE_UP_GPUS", "0"), "MADE_UP_GPUS")
        api = ApiServer.from_environment(environment)
        agreement = agreement_of(environment)
    except KeyError as error:
        log.error("the variable %s is not set", error)  # noqa: TRY400 - no traceback for settings
        sys.exit(2)
    except SettingError as error:
        log.error("%s", error)  # noqa: TRY400
        sys.exit(2)
    sockets = Sockets.of_kubelet(Path(environment.get("KUBELET_ROOT", "/var/lib/kubelet")))
    sockets.plugin.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    folder = Path(environment.get("CDI_ROOT", "/var/run/cdi"))
    cache = Path(environment.get("CACHE_ROOT", ROOT))
    claims = Claims(
        node,
        api,
        sockets.plugin.with_name("checkpoint.json"),
        folder,
        agreement,
        lambda path: is_there(cache, path),
    )
    board = Board()
    inventory = Inventory(node, made_up, time.monotonic, real_gpus())
    plugin = Plugin(
        node,
        api=api,
        inventory=inventory,
        claims=claims,
        agreement=agreement,
        board=board,
        clock=time.time,
        random=random.random,
    )
    server = Server(sockets, claims, board, plugin.registered)
    # Once before it serves: what is prepared must be known.
    plugin.step()
    try:
        server.start()
        run(plugin, sockets, Path(environment.get("READY_FILE", READY)))
    finally:
        server.stop()


def agreement_of(environment: Mapping[str, str]) -> Agreement:
    """With the host's tool, if a Redis is named; without, no client for it takes memory.

    Raises:
        SettingError: That is no address.
    """
    if not (where := environment.get("REDIS", "")):
        return NoAgreement()
    from devctl_dra_plugin.host_tool import HostTool  # noqa: PLC0415
    from devctl_dra_plugin.redis_server import Redis  # noqa: PLC0415

    password = environment.get("REDIS_PASSWORD_FILE", "")
    try:
        return HostTool(Redis(where, Path(password) if password else None))
    except ValueError as error:
        raise SettingError(f"REDIS: {error}") from error


def run(plugin: Plugin, sockets: Sockets, ready: Path) -> None:
    """Look again and again; ends the process if the kubelet can no longer find it."""
    while True:
        signal.alarm(_WATCHDOG)
        plugin.step()
        if plugin.is_ready:
            ready.touch()
        if not sockets.exist():
            log.error("a socket is gone; starting again")
            sys.exit(1)
        plugin.wait()


if __name__ == "__main__":
    main()
