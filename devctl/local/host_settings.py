"""Kernel settings of the host: raised while a cluster is up, put back by the last `down`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PROC_SYS = Path("/proc/sys")

# At least these values: nodes and their pods share the host's limits. Forwarding is the way out
# of the cluster; every watch of a container, kubelet or supervisor takes an inotify instance.
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


def apply(saved: Path, proc_sys: Path = PROC_SYS) -> bool:
    """Raise what is too low, after writing down how it was; returns whether anything changed."""
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


def restore(saved: Path, proc_sys: Path = PROC_SYS) -> None:
    """Put everything back as it was written down, and forget it."""
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
