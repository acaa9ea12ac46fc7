"""Programs of Debian packages, unpacked: installing them would start servers on the host."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from typing import TYPE_CHECKING

from devctl.local.apt import host_sources
from devctl.local.paths import cache_paths

if TYPE_CHECKING:
    from pathlib import Path


def unpacked(name: str, packages: tuple[str, ...]) -> Path:
    """A folder with the packages of the host's release, which is made on first use."""
    root = folder_of(name)
    if not root.is_dir():
        host_sources()  # apt has its indexes then; it takes seconds
        _unpack(root, packages)
    return root


def folder_of(name: str) -> Path:
    """Where what the host's release has of that name is unpacked."""
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    return cache_paths().root / f"{name}-{codename}"


def environment(root: Path) -> dict[str, str]:
    """The process's environment, with the programs on the path and their libraries."""
    (libraries,) = root.glob("usr/lib/*-linux-gnu")
    path = f"{root}/usr/sbin:{root}/usr/bin:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "LD_LIBRARY_PATH": str(libraries)}


def _unpack(root: Path, packages: tuple[str, ...]) -> None:
    making = root.with_name(f"{root.name}.{os.getpid()}")
    making.mkdir(parents=True)
    download = ["apt-get", "-o", "APT::Sandbox::User=root", "download", *packages]
    subprocess.run(download, cwd=making, check=True, capture_output=True)
    for archive in making.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", archive, making], check=True)
    if root.is_dir():  # another process was faster
        shutil.rmtree(making)
    else:
        making.rename(root)
