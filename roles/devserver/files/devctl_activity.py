"""An extension of Jupyter's server: reports which kernels are busy, for the agent of the node.

The report is a JSON file in memory, written when something changes and every ten seconds. Without
it, or if it is old, each kernel counts as a running program. Times are the monotonic clock's, which
all containers of a node share.
"""

from __future__ import annotations

import atexit
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

FOLDER = Path("/run/devctl/jupyter")
OURS = "/opt/devctl"
_POLL = 1.0
_PERIOD = 10.0
_MOST = 256
"""Kernels, and terminals; what is left out counts as busy."""
_MOST_WARNINGS = 8


class Report:
    """The state of one server's kernels and terminals.

    Args:
        kernels: Jupyter's manager of kernels.
        settings: The server's, which have a manager of terminals once that extension is loaded.
        folder: Where the file goes.
        clock: The monotonic clock.
    """

    def __init__(
        self,
        kernels: Any,
        settings: Mapping[str, Any],
        folder: Path = FOLDER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write nothing yet."""
        self._kernels, self._settings = kernels, settings
        self._clock = clock
        self._seen: dict[tuple[str, str], tuple[str, float]] = {}
        self._written: dict[str, Any] = {}
        self._written_at = 0.0
        self.path = folder / f"{os.getpid()}.json"

    def update(self) -> None:
        """Write the file, if something has changed or the last one is old."""
        now = self._clock()
        found = (self._kernel(name, now) for name in list(self._kernels.list_kernel_ids()))
        kernels = [kernel for kernel in found if kernel]
        manager = self._settings.get("terminal_manager")
        terminals = [
            {"name": str(each["name"]), "active": self._since("terminal", each["name"], each, now)}
            for each in (manager.list() if manager else [])
        ]
        state = {"kernels": kernels[:_MOST], "terminals": terminals[:_MOST]}
        if state != self._written or now - self._written_at >= _PERIOD:
            self._write({"at": now, **state})
            self._written, self._written_at = state, now

    def remove(self) -> None:
        """Remove the file, since the server ends."""
        with suppress(OSError):
            self.path.unlink()

    def _kernel(self, name: str, now: float) -> dict[str, Any] | None:
        try:
            model = self._kernels.kernel_model(name)
        except Exception:  # noqa: BLE001 - it has ended; which error says so depends on the manager
            return None
        return {
            "id": str(model["id"]),
            "name": str(model.get("name", ""))[:64],
            "state": str(model.get("execution_state", "unknown")),
            "active": self._since("kernel", name, model, now),
        }

    def _since(self, kind: str, name: str, model: Mapping[str, Any], now: float) -> float:
        """When its last activity changed: Jupyter's times are the wall clock's, which jumps."""
        said = str(model.get("last_activity"))
        before = self._seen.get((kind, name))
        if before and before[0] == said:
            return before[1]
        self._seen[kind, name] = (said, now)
        return now

    def _write(self, report: Mapping[str, Any]) -> None:
        # The agent reads it as another user, whatever this one's umask is.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.parent.chmod(0o755)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(report))
        new.chmod(0o644)
        new.replace(self.path)


def leave_path(environment: MutableMapping[str, str]) -> None:
    """Take this file's folder from the path of kernels and terminals, which inherit it."""
    rest = [each for each in environment.get("PYTHONPATH", "").split(":") if each != OURS]
    if any(rest):
        environment["PYTHONPATH"] = ":".join(rest)
    else:
        environment.pop("PYTHONPATH", None)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "devctl_activity"}]


def _load_jupyter_server_extension(app: Any) -> None:
    # Jupyter has it, devctl has not.
    from tornado.ioloop import PeriodicCallback  # noqa: PLC0415

    leave_path(os.environ)
    report = Report(app.kernel_manager, app.web_app.settings)
    warned: set[str] = set()

    def update() -> None:
        # Nothing here may disturb Jupyter.
        try:
            report.update()
        except Exception as error:  # noqa: BLE001
            if str(error) not in warned and len(warned) < _MOST_WARNINGS:
                warned.add(str(error))
                app.log.warning("devctl cannot report this server's activity: %s", error)

    atexit.register(report.remove)
    app.devctl_activity = PeriodicCallback(update, _POLL * 1000)
    app.devctl_activity.start()
