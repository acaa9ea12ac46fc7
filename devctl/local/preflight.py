"""What is checked before anything is touched: each failure is one line and a way out."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devctl.errors import HostError
from devctl.local.paths import state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

_GIB = 1024**3


class Needs(NamedTuple):
    """What an `up` takes from the host, in bytes."""

    memory: int
    disk: int


def needs(node_count: int, *, cached: bool) -> Needs:
    """Measured: a node takes about 1 GiB of memory, compiling 4 GiB and 12 GiB of disk on top."""
    return Needs(
        memory=(2 + node_count) * _GIB if cached else 4 * _GIB + node_count * _GIB,
        disk=(2 + 2 * node_count) * _GIB if cached else (14 + 2 * node_count) * _GIB,
    )


def check_caller(platform: str = sys.platform, uid: int | None = None) -> None:
    """Refuse another system than Linux, and anybody but root.

    Raises:
        HostError: Says which.
    """
    if platform != "linux":
        raise HostError(
            f"the local cluster needs Linux, this is {platform}",
            "run it in a Linux machine, or set KUBECONFIG and use `make deploy`",
        )
    if (os.geteuid() if uid is None else uid) != 0:
        raise HostError(
            "the local cluster needs root: it makes namespaces and mounts", "run it with sudo"
        )


def parse_meminfo(text: str) -> Mapping[str, int]:
    """The fields of /proc/meminfo, in bytes."""
    fields = (line.split() for line in text.splitlines())
    return {field[0].rstrip(":"): int(field[1]) * 1024 for field in fields if len(field) > 1}


def check_room(wanted: Needs, available_memory: int, free_disk: int, folder: Path) -> None:
    """Refuse a machine that is too small, rather than fail half-way.

    Raises:
        HostError: Names what is short, and by how much.
    """
    memory, disk = available_memory / _GIB, free_disk / _GIB
    if available_memory < wanted.memory:
        raise HostError(
            f"{memory:.1f} GiB of memory are available, {wanted.memory / _GIB:.0f} are needed",
            "end other programs, or take fewer nodes with `--nodes 1`",
        )
    if free_disk < wanted.disk:
        raise HostError(
            f"{disk:.1f} GiB are free under `{folder}`, {wanted.disk / _GIB:.0f} are needed",
            "free some, or set DEVCTL_STATE_DIR to a folder on a larger disk",
        )


def check_host(node_count: int, *, cached: bool) -> None:
    """Refuse a host that cannot carry the cluster.

    Raises:
        HostError: Says what is short.
    """
    # The state folder may not be there yet.
    folder = next(p for p in (state_folder(), *state_folder().parents) if p.is_dir())
    memory = parse_meminfo(Path("/proc/meminfo").read_text())["MemAvailable"]
    check_room(needs(node_count, cached=cached), memory, shutil.disk_usage(folder).free, folder)
