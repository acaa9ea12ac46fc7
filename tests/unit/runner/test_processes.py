from __future__ import annotations

import os
import signal
import subprocess
import sys

from devctl_runner.daemon.figures import resident_bytes
from devctl_runner.daemon.processes import descendants, kill_tree

from unit.patience import FOREVER, eventually

# A grandchild in a session of its own, like Ansible's tasks.
TREE = f"""
import subprocess, sys
subprocess.Popen(["sleep", "{FOREVER}"], start_new_session=True)
subprocess.run(["sleep", "{FOREVER}"])
"""


def test_a_tree_is_killed_with_all_its_sessions() -> None:
    root = subprocess.Popen([sys.executable, "-c", TREE])
    eventually(lambda: len(descendants(root.pid)) == 2)
    found = descendants(root.pid)

    kill_tree(root.pid)

    assert root.wait() == -signal.SIGKILL
    eventually(lambda: not any(map(alive, found)))


def alive(pid: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_that_is_gone_is_no_error() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()

    kill_tree(gone.pid)

    assert descendants(gone.pid) == set()
    assert resident_bytes() > os.sysconf("SC_PAGE_SIZE")
