"""What each process of a cluster on this machine has used of the CPU, as the kernel counts it."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_TICKS = os.sysconf("SC_CLK_TCK")
# By a word of the command line; its children are another row where they have one.
_ROWS = {
    "kube-apiserver": ("API server", ""),
    "etcd": ("etcd", ""),
    "kube-controller-manager": ("controller manager", ""),
    "kube-scheduler": ("scheduler", ""),
    "kubelet": ("kubelets", ""),
    "ansible-operator": ("ansible-operator", "thin clients"),
    "devctl-runnerd": ("warm runner", "runs"),
    "devctl_runner.daemon": ("warm runner", "runs"),
    "devctl_observer": ("observer", ""),
    "stepped_observer.py": ("observer", ""),
    "kwok": ("kwok", ""),
    "devctl_gateway": ("gateway", ""),
    "postgres": ("PostgreSQL", ""),
}


@dataclass(frozen=True)
class _Process:
    row: str
    children_row: str
    parent: int
    own: float
    children: float


def seconds(pids: Iterable[int] | None = None) -> dict[str, float]:
    """CPU seconds until now by kind of process; nothing of a cluster on other machines.

    Args:
        pids: Those to look at; all that run where there are none.
    """
    paths = Path("/proc").glob("[0-9]*") if pids is None else (Path(f"/proc/{pid}") for pid in pids)
    found = {int(path.name): read for path in paths if (read := _read(path))}
    used: dict[str, float] = defaultdict(float)
    for process in found.values():
        parent = found.get(process.parent)
        if parent and parent.row == process.row and process.children_row:
            # A run that goes on: its daemon's child by the same name.
            used[process.children_row] += process.own + process.children
            continue
        used[process.row] += process.own
        if process.children_row:  # those that have ended
            used[process.children_row] += process.children
    return used


def spent(pid: int) -> float:
    """CPU seconds of a process until now, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _read(path: Path) -> _Process | None:
    try:
        # A gateway's comes after the loader and the Python of its image.
        words = (path / "cmdline").read_text(errors="replace").split("\0")[:8]
        fields = (path / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    # A shell or tini has them as arguments after its own; after a colon, PostgreSQL says more.
    names = [word.rpartition("/")[2].partition(":")[0] for word in words]
    if names[0] in {"sh", "tini"}:
        return None
    rows = next((_ROWS[name] for name in names if name in _ROWS), None)
    if rows is None:
        return None
    user, system, child_user, child_system = (int(field) / _TICKS for field in fields[11:15])
    return _Process(*rows, int(fields[1]), user + system, child_user + child_system)


def report(before: dict[str, float], after: dict[str, float], servers: int) -> str:
    """CPU seconds for each server, the largest first."""
    used = {row: (value - before.get(row, 0.0)) / servers for row, value in after.items()}
    rows = sorted(used.items(), key=lambda entry: -entry[1])
    parts = ", ".join(f"{row} {value:.3f}" for row, value in rows if value >= 0.001)
    return f"CPU seconds a server: {sum(used.values()):.3f} in all: {parts}"
