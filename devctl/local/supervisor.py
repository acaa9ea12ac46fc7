"""The supervisor: supervisord keeps containerd, the kubelets and the storage provisioner alive."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xmlrpc.client import Fault, ServerProxy

from supervisor.xmlrpc import SupervisorTransport

from devctl.errors import StepError
from devctl.local.commands import run_logged

if TYPE_CHECKING:
    from devctl.local.paths import ClusterPaths

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ProcessState(NamedTuple):
    """One supervised process."""

    name: str
    state: str
    pid: int
    uptime_seconds: int
    log: str


def running_pid(paths: ClusterPaths) -> int | None:
    """The pid of the cluster's supervisor, if it is alive."""
    try:
        pid = int(paths.supervisor_pid.read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    # The pid may have been reused.
    return pid if str(paths.supervisor_config).encode() in command.split(b"\0") else None


def _connect(paths: ClusterPaths) -> Any:
    """The supervisor's API, which is untyped."""
    transport = SupervisorTransport(None, None, f"unix://{paths.supervisor_socket}")
    # The address is never used: the transport talks to the socket.
    return ServerProxy("http://supervisor", transport=transport, use_builtin_types=True).supervisor


def processes(paths: ClusterPaths) -> list[ProcessState]:
    """Every supervised process; empty if the supervisor is not running."""
    if running_pid(paths) is None:
        return []
    try:
        infos = _connect(paths).getAllProcessInfo()
    except (OSError, Fault):
        return []
    return [
        ProcessState(
            str(info["name"]),
            str(info["statename"]),
            int(info["pid"]),
            max(0, int(info["now"]) - int(info["start"])) if info["pid"] else 0,
            str(info["stdout_logfile"]),
        )
        for info in infos
    ]


def start(paths: ClusterPaths) -> bool:
    """Start the supervisor, or have it apply a changed file; returns whether anything changed.

    Raises:
        StepError: It does not answer.
    """
    if running_pid(paths) is not None:
        return _update(paths)
    for leftover in (paths.supervisor_socket, paths.supervisor_pid):
        leftover.unlink(missing_ok=True)
    run_logged(
        [
            *(sys.executable, "-m", "supervisor.supervisord"),
            *("--configuration", paths.supervisor_config),
        ],
        paths.logs / "supervisor-start.log",
        what="start the supervisor",
        # Processes must not inherit the caller's environment.
        env={"PATH": SYSTEM_PATH, "HOME": "/root"},
        cwd=Path("/"),
    )
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if paths.supervisor_socket.exists() and processes(paths):
            return True
        time.sleep(0.05)
    raise StepError("the supervisor does not answer", f"read the log: {paths.logs}/supervisord.log")


def _update(paths: ClusterPaths) -> bool:
    """Apply changes to the programs, and start those that have stopped."""
    api = _connect(paths)
    try:
        added, changed, removed = api.reloadConfig()[0]
        for group in [*removed, *changed]:
            api.stopProcessGroup(group)
            api.removeProcessGroup(group)
        for group in [*added, *changed]:
            api.addProcessGroup(group)
        stopped = [p for p in processes(paths) if p.state in {"STOPPED", "EXITED", "FATAL"}]
        for process in stopped:
            api.startProcess(process.name, False)  # noqa: FBT003 - XML-RPC has no keywords
    except (OSError, Fault) as error:
        log = paths.logs / "supervisord.log"
        raise StepError(f"the supervisor refuses: {error}", f"read the log: {log}") from error
    return bool(added or changed or removed or stopped)


def stop(paths: ClusterPaths, seconds: float = 30.0) -> None:
    """Stop the supervisor and its processes; kill it and raise StepError after `seconds`."""
    pid = running_pid(paths)
    if pid is None:
        return
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while running_pid(paths) is not None:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            raise StepError(f"the supervisor (pid {pid}) had to be killed", "run it again")
        time.sleep(0.05)
