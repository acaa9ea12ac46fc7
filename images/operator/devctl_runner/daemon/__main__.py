"""The daemon's start, and how it replaces itself with a new process."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import socket
import sys
import time
from pathlib import Path

from devctl_runner import paths
from devctl_runner.daemon import figures
from devctl_runner.daemon.files import Files, sources, watched_roles
from devctl_runner.daemon.loop import Loop
from devctl_runner.daemon.pod_condition import publish
from devctl_runner.runs.compatibility import IncompatibleError
from devctl_runner.runs.warm import Warm, warm_up

# The state that a daemon passes to the process that replaces it.
_LISTENERS = "DEVCTL_RUNNER_LISTENERS"
_FIGURES = "DEVCTL_RUNNER_FIGURES"


def main() -> int:
    """Serve until a signal arrives; when a role's files change, a new process takes over."""
    if not paths.enabled():
        return 0
    inherited = os.environ.pop(_LISTENERS, "")
    if saved := os.environ.pop(_FIGURES, ""):
        figures.restore(saved)
    own = dict(os.environ)
    folder = private_folder()
    if inherited:
        lock, *numbers = (int(number) for number in inherited.split(","))
        listeners = [socket.socket(fileno=number) for number in numbers]
    else:
        taken = take_lock()
        if taken is None:
            return 0  # another daemon serves
        lock, listeners = taken, listen()
    # From here on, clients can connect; they wait until Ansible is warm.
    roles = watched_roles(paths.watches())
    figures.expect(role.name for role in roles)
    files = Files(sources(paths.watches(), roles, own))
    warm = try_to_warm_up(roles, folder)
    Loop(listeners, warm, own, files).serve()
    log("files have changed; warming up again")
    hand_over([lock, *(listener.fileno() for listener in listeners)], own)
    return 1


def try_to_warm_up(roles: list[Path], folder: Path) -> Warm | None:
    """Warm up; None if that fails with this Ansible, as log, metric and condition then say."""
    started = time.monotonic()
    warm, what = None, ""
    try:
        warm = warm_up([role for role in roles if role.is_dir()], folder)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the stock runner may still work
        what = str(error) if isinstance(error, IncompatibleError) else repr(error)
        log(f"runs go to the stock ansible-runner: {what}")
    else:
        seconds = time.monotonic() - started
        figures.WARM_UPS.inc()
        figures.WARM_UP_SECONDS.set(seconds)
        log(f"warm after {seconds:.1f} s: {', '.join(role.name for role in roles)}")
    figures.WARM.set(warm is not None)
    publish(what, log)
    return warm


def log(message: str) -> None:
    """One line for the pod's log."""
    print(f"devctl-runnerd: {message}", file=sys.stderr, flush=True)  # noqa: T201


def private_folder() -> Path:
    """The daemon's folder.

    Raises:
        PermissionError: It belongs to another user, who could otherwise request runs.
    """
    folder = Path(paths.folder())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise PermissionError(f"`{folder}` belongs to another user")
    folder.chmod(0o700)
    return folder


def take_lock() -> int | None:
    """Take the lock of the only daemon; None if another one holds it."""
    lock = os.open(paths.lock_path(), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def listen() -> list[socket.socket]:
    """The socket for runs and, if its port is free, the one for metrics."""
    with contextlib.suppress(FileNotFoundError):
        Path(paths.socket_path()).unlink()
    runs = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    runs.bind(paths.socket_path())
    runs.listen(128)
    listeners = [runs]
    if port := paths.metrics_port():
        try:
            listeners.append(socket.create_server(("", port), backlog=4))
        except OSError as error:
            log(f"cannot serve metrics on port {port}: {error.strerror}")
    return listeners


def hand_over(numbers: list[int], own: dict[str, str]) -> None:
    """Replace this process with a cold one that keeps the sockets, the lock and the metrics."""
    # Ansible's hooks remove its folders; after exec, nothing would.
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public way
    # The standard ones, too, which Ansible's task queue manager closes on exec.
    for number in (0, 1, 2, *numbers):
        os.set_inheritable(number, True)  # noqa: FBT003 - its only argument
    state = {_LISTENERS: ",".join(map(str, numbers)), _FIGURES: figures.save()}
    arguments = [sys.executable, "-P", "-m", "devctl_runner.daemon"]
    os.execve(sys.executable, arguments, own | state)  # noqa: S606 - there must not be a shell


if __name__ == "__main__":
    sys.exit(main())
