"""The DRA plugin as a process of its own that dies at planned points, and looks every second.

Beside the plugin's own variables, DEATHS names the plan, and ACCOUNT the folder with its token.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devctl_dra_plugin import __main__, checkpoint, claims, files, plugin
from devctl_dra_plugin.api import ApiServer
from devctl_dra_plugin.host_tool import HostTool
from support.plane.deaths import Deaths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_now = threading.local()
"""What a thread is doing: the same files are written for several reasons."""


def _main() -> None:
    deaths, account = Deaths(Path(os.environ["DEATHS"])), Path(os.environ["ACCOUNT"])

    def connect(environment: Mapping[str, str]) -> ApiServer:
        host, port = (environment[f"KUBERNETES_SERVICE_{name}"] for name in ("HOST", "PORT"))
        return ApiServer(host, int(port), account)

    def at(**points: str) -> Callable[[], None]:
        return lambda: deaths.reach(points.get(getattr(_now, "doing", ""), ""))

    _replace(ApiServer, "from_environment", connect)
    _replace(plugin, "INTERVAL", 1.0)
    for doing in ("prepare", "unprepare"):
        _within(claims.Claims, f"_{doing}_one", doing)
    _around(HostTool, "_reserve", before=at(prepare="asked"), after=at(prepare="reserved"))
    _around(HostTool, "give_back", after=at(unprepare="released"))
    _around(checkpoint, "write", after=at(prepare="recorded", unprepare="forgotten"))
    _around(files, "write_whole", after=at(prepare="described"))
    _around(files, "remove", after=at(unprepare="removed"))
    __main__.main()


def _replace(owner: Any, name: str, value: object) -> None:
    setattr(owner, name, value)


def _around(
    owner: Any,
    name: str,
    before: Callable[[], None] = lambda: None,
    after: Callable[[], None] = lambda: None,
) -> None:
    function = getattr(owner, name)

    def wrapped(*args: Any) -> Any:
        before()
        found = function(*args)
        after()
        return found

    _replace(owner, name, wrapped)


def _within(owner: Any, name: str, doing: str) -> None:
    _around(
        owner,
        name,
        before=lambda: setattr(_now, "doing", doing),
        after=lambda: setattr(_now, "doing", ""),
    )


if __name__ == "__main__":
    _main()
