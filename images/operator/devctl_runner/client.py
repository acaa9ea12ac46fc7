"""The `ansible-runner` that ansible-operator starts: hands its run to the daemon and waits.

Anything the daemon cannot do goes to the stock ansible-runner, which replaces this process. Nothing
here may fail a run, and imports are minimal, because this program's start is part of every run.
"""

import os
import sys
import time

# The C module behind `socket`, whose own imports take longer than all of this program.
from _socket import AF_UNIX, SOCK_SEQPACKET, socket

from devctl_runner import paths

# A daemon answers once it is warm; waiting longer than this is worse than the stock runner.
ACCEPT_SECONDS = 20.0
# If the daemon crashes on start, not every run must start it again.
RESTART_SECONDS = 30.0


def main() -> None:
    """Do the run; never return: Python's cleanup takes a tenth of this program's time."""
    status = run()
    sys.stdout.flush()
    os._exit(status)


def run() -> int:
    """Do the run; return the exit status that ansible-runner would return."""
    if not paths.enabled():
        return stock("disabled")
    word, _, rest = ask().partition(" ")
    if word != "rc":
        return stock(rest)
    status, _, output = rest.partition("\n")
    sys.stdout.write(output)  # the operator logs it if the run failed
    return int(status)


def request() -> bytes:
    """This run as a message to the daemon, which runs/request.py parses."""
    arguments = [os.fsencode(word) for word in sys.argv[1:]]
    environment = [name + b"=" + value for name, value in os.environb.items()]
    count = str(len(arguments)).encode()
    folder = os.getcwdb()  # noqa: PTH109 - pathlib is slow
    return b"\0".join([count, *arguments, folder, *environment])


def ask() -> str:
    """The daemon's final reply: `rc STATUS` and the run's output, or `fallback REASON`."""
    connection = socket(AF_UNIX, SOCK_SEQPACKET)
    connection.settimeout(ACCEPT_SECONDS)
    try:
        connection.connect(paths.socket_path())
    except OSError:
        start_daemon()
        return "fallback down"
    try:
        connection.send(request())
        answer = connection.recv(paths.MESSAGE_BYTES)
        if answer == paths.ACCEPTED:
            # From here on, the daemon enforces the timeout.
            connection.settimeout(None)
            answer = connection.recv(paths.MESSAGE_BYTES)
    except TimeoutError:
        return "fallback slow"
    except OSError:
        return "fallback lost"
    finally:
        connection.close()
    return answer.decode(errors="replace") or "fallback lost"


def stock(reason: str) -> int:
    """Become the stock ansible-runner; note why, for the daemon's metrics."""
    if reason != "disabled":
        note(reason)
    # -P: do not import modules from the operator's working directory.
    arguments = [sys.executable, "-P", "-m", "ansible_runner", *sys.argv[1:]]
    os.execv(sys.executable, arguments)  # noqa: S606 - there must not be a shell


def note(reason: str) -> None:
    """Leave a reason for the daemon to count."""
    try:
        with open(paths.fallbacks_path(), "a", encoding="utf-8") as file:  # noqa: PTH123 - slow
            file.write(f"{reason}\n")
    except OSError:
        pass


def start_daemon() -> None:
    """Start the daemon for later runs, unless it was started recently; never raises."""
    try:
        os.makedirs(paths.folder(), mode=0o700, exist_ok=True)  # noqa: PTH103 - pathlib is slow
        mark = f"{paths.folder()}/started"
        if os.access(mark, os.F_OK) and time.time() - os.stat(mark).st_mtime < RESTART_SECONDS:  # noqa: PTH116 - slow
            return
        with open(mark, "w", encoding="utf-8"):  # noqa: PTH123 - slow
            pass
        # Not our own output, which the operator reads until the last process closes it, but the
        # operator's standard error, which is the pod's log.
        log = f"/proc/{os.getppid()}/fd/2"
        target = log if os.access(log, os.W_OK) else os.devnull
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", "devctl_runner.daemon"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, target, os.O_WRONLY | os.O_APPEND, 0),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
    except OSError:
        pass


if __name__ == "__main__":
    main()
