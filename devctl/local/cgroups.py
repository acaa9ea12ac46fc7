"""Control groups: one per node, on cgroup v1 and v2.

Everything that a node runs, including its containers, stays below the node's group. That is how
`down` finds all of it: containers and their shims outlive containerd on purpose.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path("/sys/fs/cgroup")
PARENT = "devctl"
# Where containerd, its shims and the kubelet live. cgroup v2 allows no process beside a child
# group, so they cannot be in the node's group itself.
SYSTEM = "system"


def is_v2(root: Path = ROOT) -> bool:
    """Whether this host has the unified hierarchy."""
    return (root / "cgroup.controllers").is_file()


def hierarchies(root: Path = ROOT) -> list[Path]:
    """The roots of all hierarchies, one per controller on v1; raises HostError if there is none."""
    if is_v2(root):
        return [root]
    # A v1 host may also have a v2 hierarchy without controllers (`unified`), in which runc creates
    # groups too. Symbolic links (`cpu` -> `cpu,cpuacct`) are the same hierarchy again.
    found = sorted(
        p
        for p in root.iterdir()
        if p.is_dir() and not p.is_symlink() and (p / "cgroup.procs").exists()
    )
    if not found:
        raise HostError(f"no control groups under `{root}`", "mount the cgroup file systems")
    return found


def path_of(cluster: str, node: str = "") -> str:
    """A cluster's or a node's group, as the kubelet's `cgroupRoot` wants it."""
    return "/" + "/".join(filter(None, (PARENT, cluster, node)))


def create(group: str, root: Path = ROOT) -> None:
    """Create a group in every hierarchy, with its parent's controllers."""
    for hierarchy in hierarchies(root):
        folder = hierarchy
        for part in group.strip("/").split("/"):
            if is_v2(root):
                controllers = (folder / "cgroup.controllers").read_text().split()
                (folder / "cgroup.subtree_control").write_text(
                    " ".join(f"+{c}" for c in controllers)
                )
            parent, folder = folder, folder / part
            folder.mkdir(exist_ok=True)
            # v1's cpuset starts empty, and a process cannot enter an empty one.
            for name in ("cpuset.cpus", "cpuset.mems"):
                if not is_v2(root) and (parent / name).is_file():
                    (folder / name).write_text((parent / name).read_text())


def process_files(group: str, root: Path = ROOT) -> list[Path]:
    """The files that a process writes its pid to in order to enter the group."""
    return [h / group.strip("/") / "cgroup.procs" for h in hierarchies(root)]


def processes(group: str, root: Path = ROOT) -> set[int]:
    """The pids of all processes in a group and below it."""
    pids: set[int] = set()
    for folder in _folders(group, root):
        with suppress(OSError):
            pids.update(int(pid) for pid in (folder / "cgroup.procs").read_text().split())
    return pids


def kill(group: str, seconds: float = 20.0, root: Path = ROOT) -> None:
    """Kill every process of a group; raises HostError if some survive for `seconds`."""
    if left := kill_all(lambda: processes(group, root), seconds):
        raise HostError(
            f"{len(left)} processes of `{group}` do not end (first pid {min(left)})",
            "see what blocks them: they may be waiting for a disk",
        )


def kill_all(find: Callable[[], set[int]], seconds: float) -> set[int]:
    """Kill what `find` returns until it finds nothing; returns what survives for `seconds`."""
    deadline = time.monotonic() + seconds
    while (pids := find()) and time.monotonic() <= deadline:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    return pids


def remove(group: str, root: Path = ROOT) -> None:
    """Remove a group and all below it, and an empty parent; raises HostError if one stays busy."""
    deadline = time.monotonic() + 5
    for folder in list(_folders(group, root)):
        while folder.is_dir():
            try:
                folder.rmdir()
            except OSError as error:
                if time.monotonic() > deadline:
                    raise HostError(
                        f"cannot remove control group `{folder}`: {error.strerror}", "run it again"
                    ) from error
                time.sleep(0.02)
    for hierarchy in hierarchies(root):
        with suppress(OSError):  # other clusters use it
            (hierarchy / PARENT).rmdir()


def _folders(group: str, root: Path) -> Iterator[Path]:
    """The group's folders in all hierarchies, children before their parents."""
    for hierarchy in hierarchies(root):
        for folder, _, _ in os.walk(hierarchy / group.strip("/"), topdown=False):
            yield Path(folder)
