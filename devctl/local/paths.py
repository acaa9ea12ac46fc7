"""The files and folders of local clusters, all below one state folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from devctl import checkout

REPOSITORY = Path(checkout.REPOSITORY)
"""The programs and images of this checkout; the local cluster is built from its sources."""


def state_folder() -> Path:
    """The one folder that local clusters write to: $DEVCTL_STATE_DIR or /var/lib/devctl."""
    return Path(os.environ.get("DEVCTL_STATE_DIR") or "/var/lib/devctl").absolute()


class CachePaths:
    """What all clusters share: built programs and images. Safe to delete while none is up."""

    def __init__(self, root: Path) -> None:
        """Name the files and folders below `root`."""
        self.root: Final = root
        self.lock: Final = root / "lock"
        """Held while something is built."""
        self.programs: Final = root / "programs"
        """One folder per program group and content hash."""
        self.go_toolchain: Final = root / "go"
        """The Go toolchain from PyPI, if the host has none."""
        self.go_work: Final = root / "go-work"
        """Go's module and build caches; deleted after each build."""
        self.images: Final = root / "images"
        """One archive per image and content hash."""
        self.buildah: Final = root / "buildah"
        """Buildah's own store: the layers that builds start from."""
        self.node_roots: Final = root / "node-roots"
        """The unpacked node image, one folder per content hash."""
        self.logs: Final = root / "logs"
        """One log per program group and image."""


class ClusterPaths:
    """One cluster's own folder."""

    def __init__(self, root: Path) -> None:
        """Name the files and folders below `root`."""
        self.root: Final = root
        self.settings: Final = root / "cluster.json"
        """The choices made at creation."""
        self.lock: Final = root / "lock"
        """Held by the command that changes the cluster; contains its pid."""
        self.kubeconfig: Final = root / "kubeconfig"
        self.logs: Final = root / "logs"
        """One log per supervised process, and one per command."""
        self.run: Final = root / "run"
        """What does not survive a reboot: sockets, pids, namespace handles."""
        self.supervisor_config: Final = root / "supervisord.conf"
        self.supervisor_socket: Final = self.run / "supervisor.sock"
        self.parts: Final = root / "parts"
        """One folder per optional part that was installed: its manifest, and how to remove it."""
        self.supervisor_pid: Final = self.run / "supervisord.pid"
        self.shared_volumes: Final = root / "volumes" / "shared"
        """The folder behind the ReadWriteMany class; every node sees it."""

    def node(self, name: str) -> NodePaths:
        """One node's files."""
        return NodePaths(self.root / "nodes" / name, self.run / name, self.root / "volumes" / name)


class NodePaths:
    """One node's files: `root` is permanent, `run` lives as long as the namespaces."""

    def __init__(self, root: Path, run: Path, volumes: Path) -> None:
        """Name the files and folders of a node."""
        self.root: Final = root
        self.run: Final = run
        self.volumes: Final = volumes
        self.etc: Final = root / "etc"
        self.var: Final = root / "var"
        """The node's /var: images, kubelet, etcd, logs."""
        self.mount_namespace: Final = run / "mnt"
        self.network_namespace: Final = run / "net"
        """The handles that keep the namespaces alive."""
        self.imported: Final = root / "images.json"
        """Which image archives the node's containerd already has."""


def cache_paths() -> CachePaths:
    """The shared cache of the state folder."""
    return CachePaths(state_folder() / "cache")


def cluster_paths(name: str) -> ClusterPaths:
    """The folder of the cluster `name`."""
    return ClusterPaths(state_folder() / "clusters" / name)


def host_settings_file() -> Path:
    """The kernel settings from before the first `up`, for the last `down` to restore."""
    return state_folder() / "host-settings.json"


def cluster_names() -> list[str]:
    """Every cluster that has a folder, sorted."""
    return sorted(p.parent.name for p in (state_folder() / "clusters").glob("*/cluster.json"))
