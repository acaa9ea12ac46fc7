"""prometheus and promtool: the host's, or those in its release's packages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.unpacked import folder_of

from devctl.local.apt import host_sources

PROGRAMS = {"promtool": ("promtool", "prometheus"), "prometheus": ("prometheus",)}
"""The packages that each may be in; Debian 12 has no package of its own for promtool."""


def find_program(name: str) -> Path:
    """A program. It is unpacked and not installed, since its package may start a server."""
    if there := shutil.which(name):
        return Path(there)
    program = folder_of(name) / name
    if not program.is_file():
        host_sources()  # apt has its indexes then; it takes seconds
        program.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=program.parent) as folder:
            archive = _download(name, Path(folder))
            subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True)
            (Path(folder) / "usr/bin" / name).rename(program)
    return program


def _download(name: str, folder: Path) -> Path:
    said = ""
    for package in PROGRAMS[name]:
        options = ("-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=8")
        command = ["apt-get", *options, "download", package]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return next(folder.glob("*.deb"))
        said += done.stderr
    pytest.fail(f"no package with {name}: {said}")
