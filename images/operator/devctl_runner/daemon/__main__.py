"""The daemon's start, and how it hands itself over to its next process."""

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

# How a daemon hands itself over to its next process.
_LISTENERS = "DEVCTL_RUNNER_LISTENERS"
_FIGURES = "DEVCTL_RUNNER_FIGURES"


def main() -> int:
    """Serve until a signal; a new process takes over when a role's files change."""
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
    # Clients may connect from here on; they wait until Ansible is warm.
    roles = watched_roles(paths.watches())
    files = Files(sources(paths.watches(), roles, own))
    warm = try_to_warm_up(roles, folder)
    Loop(listeners, warm, own, files).serve()
    log("files have changed; warming up anew")
    hand_over([lock, *(listener.fileno() for listener in listeners)], own)
    return 1


def try_to_warm_up(roles: list[Path], folder: Path) -> Warm | None:
    """Warm up; none where this Ansible does not let us, which log, metric and condition say."""
    started = time.monotonic()
    warm, what = None, ""
    try:
        warm = warm_up([role for role in roles if role.is_dir()], folder)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the stock runner may well work
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
        PermissionError: It belongs to somebody else, who could then ask for runs.
    """
    folder = Path(paths.folder())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise PermissionError(f"`{folder}` belongs to another user")
    folder.chmod(0o700)
    return folder


def take_lock() -> int | None:
    """Be the only daemon; none if there is one already."""
    lock = os.open(paths.lock_path(), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def listen() -> list[socket.socket]:
    """The socket for runs and, if it can be had, the one for metrics."""
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
            log(f"no metrics: port {port}: {error.strerror}")
    return listeners


def hand_over(numbers: list[int], own: dict[str, str]) -> None:
    """Replace this process by a cold one that keeps the sockets, the lock and the figures."""
    # Ansible's hooks remove its folders; after exec nothing would.
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public way
    # The standard ones too: Ansible's task queue manager closes them for programs.
    for number in (0, 1, 2, *numbers):
        os.set_inheritable(number, True)  # noqa: FBT003 - its one argument
    state = {_LISTENERS: ",".join(map(str, numbers)), _FIGURES: figures.save()}
    arguments = [sys.executable, "-P", "-m", "devctl_runner.daemon"]
    os.execve(sys.executable, arguments, own | state)  # noqa: S606 - a shell is what must not be here


if __name__ == "__main__":
    sys.exit(main())
