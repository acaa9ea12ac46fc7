"""Killing a process with everything that it has started."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def descendants(pid: int) -> set[int]:
    """Every process below one: they share no group, as Ansible gives each task a session."""
    parents: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                stat = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace")
                # A program's name may contain spaces and parentheses; later fields do not.
                parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found - {pid}
        found |= more


def kill_tree(pid: int) -> None:
    """Kill a process and everything below it, even if it forks meanwhile."""
    stopped: set[int] = set()
    while more := ({pid} | descendants(pid)) - stopped:
        # Stopped processes do not fork, so this converges.
        for one in more:
            _signal(one, signal.SIGSTOP)
        stopped |= more
    for one in stopped:
        _signal(one, signal.SIGKILL)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
