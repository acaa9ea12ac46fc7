"""Terminals of a pod: which are attached from outside, when somebody typed in one, and notices.

Input is a changed access time, whatever the time is: the node's clock may jump. In the same way, a
file shows commands without a terminal, which may be over before anybody has seen them.

A notice changes the modification time only, so it is no activity.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from devctl_node_agent.files import folder_of_pod
from devctl_node_agent.processes import PTS_MAJORS, read_process
from devctl_node_agent.waiting import Waits, classify, is_ssh, is_start

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from devctl_node_agent.processes import Process
    from devctl_node_agent.sample import Place

_FOLDER, _USED = ("run", "devctl"), "used"
"""The file that devctl's scripts touch."""
_TERMINAL = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def attached(processes: Mapping[int, Process], pids: Collection[int]) -> list[Process]:
    """The processes on whose terminals SSH or the kubelet connects somebody.

    These are session leaders, or processes whose leader is outside.

    Args:
        processes: Those of the server's container, by PID.
        pids: All of the pod's; a parent that is not among them is outside.
    """
    found = []
    for process in processes.values():
        if process.stat.terminal is None or is_start(process):
            continue
        parent = processes.get(process.stat.parent)
        outside = process.stat.parent not in pids or (parent is not None and is_ssh(parent))
        leads = process.stat.session == process.pid and outside
        if (leads or process.stat.session not in pids) and classify(process) is not Waits.ENDED:
            found.append(process)
    return found


def last_command(root: str) -> int | None:
    """When devctl last started a command in the pod, in nanoseconds; None if that is unknown.

    Args:
        root: A process's /proc/PID/root.

    Returns:
        0 if it has started none.
    """
    try:
        with folder_of_pod(root, *_FOLDER) as folder:
            return os.stat(_USED, dir_fd=folder, follow_symlinks=False).st_mtime_ns
    except FileNotFoundError:
        return 0
    except OSError:
        return None


def input_times(root: str, numbers: Collection[int]) -> dict[int, int] | None:
    """The access time of each terminal in nanoseconds; None if they cannot be read.

    Args:
        root: A process's /proc/PID/root.
        numbers: The terminals, as in /dev/pts.
    """
    found: dict[int, int] = {}
    if not numbers:
        return found
    try:
        with folder_of_pod(root, "dev", "pts") as folder:
            for number in numbers:
                try:
                    status = os.stat(str(number), dir_fd=folder, follow_symlinks=False)
                except FileNotFoundError:  # closed meanwhile
                    continue
                found[number] = status.st_atime_ns
    except OSError:
        return None
    return found


def show(proc: str, place: Place, numbers: Collection[int], line: bytes) -> set[int]:
    """Write a line to terminals of a pod, without ever waiting for one.

    Args:
        proc: Where /proc is.
        place: Where the terminals are.
        numbers: Which of them.
        line: What to write.

    Returns:
        Those that took it.
    """
    try:
        with folder_of_pod(f"{proc}/{place.pid}/root", "dev", "pts") as folder:
            # Only now is it certain whose folder this is: the PID may be another process's.
            now = read_process(proc, place.pid)
            if now is None or now.stat.started != place.started:
                return set()
            return {number for number in numbers if write_line(folder, str(number), line)}
    except OSError:
        return set()


def write_line(folder: int, name: str, line: bytes) -> bool:
    """Write to a pseudo terminal in an open /dev/pts; returns whether it took that.

    The kernel opens none of another container's: they belong to the file system they lie in.
    """
    try:
        # Without opening what a pod may have put there instead.
        found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            status = os.fstat(found)
            if not stat.S_ISCHR(status.st_mode) or os.major(status.st_rdev) not in PTS_MAJORS:
                return False
            terminal = os.open(f"/proc/self/fd/{found}", _TERMINAL)
        finally:
            os.close(found)
        try:
            return os.write(terminal, line) > 0
        finally:
            os.close(terminal)
    except OSError:  # closed meanwhile, or stopped with Ctrl-S
        return False
