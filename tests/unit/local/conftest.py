"""A cluster, its folders, and programs that only pretend."""

from __future__ import annotations

import os
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

import pytest

from devctl.local.paths import CachePaths, ClusterPaths, cache_paths, cluster_paths
from devctl.local.settings import ClusterSettings, block_ranges

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def cluster() -> ClusterSettings:
    return ClusterSettings("lab", 2, *block_ranges(IPv4Network("198.18.0.0/18")))


@pytest.fixture
def paths(cluster: ClusterSettings) -> ClusterPaths:
    return cluster_paths(cluster.name)


@pytest.fixture
def cache() -> CachePaths:
    return cache_paths()


@pytest.fixture
def fake_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Puts a script in front of PATH; it gets the text after the name, its interpreter included."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def write(name: str, script: str) -> Path:
        program = folder / name
        program.write_text(script)
        program.chmod(0o755)
        return program

    return write
