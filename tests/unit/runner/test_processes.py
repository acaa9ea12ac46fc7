from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from devctl_runner.daemon.figures import resident_bytes
from devctl_runner.daemon.processes import descendants, kill_tree

# A grandchild in a session of its own, like Ansible's tasks.
TREE = """
import subprocess, sys
subprocess.Popen(["sleep", "60"], start_new_session=True)
subprocess.run(["sleep", "60"])
"""


def test_a_tree_is_killed_with_all_its_sessions() -> None:
    root = subprocess.Popen([sys.executable, "-c", TREE])
    deadline = time.monotonic() + 10
    while len(found := descendants(root.pid)) < 2:
        assert time.monotonic() < deadline

    kill_tree(root.pid)

    assert root.wait() == -signal.SIGKILL
    for pid in found:
        while alive(pid):
            assert time.monotonic() < deadline


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
