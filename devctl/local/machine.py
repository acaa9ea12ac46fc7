"""The machine: whether it can carry a cluster, and its kernel settings while one is up."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from devctl.errors import HostError
from devctl.local.paths import state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

_GIB = 1024**3


def check_caller(platform: str = sys.platform, uid: int | None = None) -> None:
    """Raise HostError unless this is Linux and the user is root."""
    if platform != "linux":
        raise HostError(
            f"the local cluster needs Linux, this is {platform}",
            "run it in a Linux machine, or set KUBECONFIG and use `make deploy`",
        )
    if (os.geteuid() if uid is None else uid) != 0:
        raise HostError(
            "the local cluster needs root: it makes namespaces and mounts", "run it with sudo"
        )


def available_memory() -> int:
    """What programs can still get, in bytes."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(fields["MemAvailable"].split()[0]) * 1024


def check_host(node_count: int, *, cached: bool) -> None:
    """Raise HostError if this machine has too little room for a cluster, rather than fail half-way.

    The needs are as measured; without `cached` programs, compiling them takes more.
    """
    needed_memory = node_count + (2 if cached else 4)
    needed_disk = 2 * node_count + (2 if cached else 14)
    # The state folder may not exist yet.
    folder = next(p for p in (state_folder(), *state_folder().parents) if p.is_dir())
    memory, disk = available_memory() / _GIB, shutil.disk_usage(folder).free / _GIB
    if memory < needed_memory:
        raise HostError(
            f"{memory:.1f} GiB of memory are available, {needed_memory} are needed",
            "end other programs, or take fewer nodes with `--nodes 1`",
        )
    if disk < needed_disk:
        raise HostError(
            f"{disk:.1f} GiB are free under `{folder}`, {needed_disk} are needed",
            "free some, or set DEVCTL_STATE_DIR to a folder on a larger disk",
        )


PROC_SYS = Path("/proc/sys")

# Minimum values: nodes and their pods share the host's limits. Forwarding is the way out of the
# cluster; every watch of a container, kubelet or supervisor takes an inotify instance.
_AT_LEAST: Mapping[str, int] = {
    "net/ipv4/ip_forward": 1,
    "fs/inotify/max_user_instances": 8192,
    "fs/inotify/max_user_watches": 524288,
}
# The kubelet sets these itself (kubernetes: pkg/kubelet/cm/container_manager_linux.go).
_KUBELET = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
)


def raise_settings(saved: Path, proc_sys: Path = PROC_SYS) -> bool:
    """Raise settings that are too low, after saving all; returns whether any changed."""
    if not saved.is_file():
        before = {name: _read(proc_sys / name) for name in (*_AT_LEAST, *_KUBELET)}
        saved.parent.mkdir(parents=True, exist_ok=True)
        partial = saved.with_suffix(".partial")
        partial.write_text(json.dumps({k: v for k, v in before.items() if v is not None}, indent=2))
        partial.rename(saved)
    changed = False
    for name, least in _AT_LEAST.items():
        current = _read(proc_sys / name)
        if current is not None and int(current) < least:
            (proc_sys / name).write_text(str(least))
            changed = True
    return changed


def restore_settings(saved: Path, proc_sys: Path = PROC_SYS) -> None:
    """Restore all saved settings and delete the file that holds them."""
    try:
        before = json.loads(saved.read_text())
    except FileNotFoundError:
        return
    for name, value in before.items():
        if _read(proc_sys / name) not in (None, value):
            (proc_sys / name).write_text(value)
    saved.unlink()


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
