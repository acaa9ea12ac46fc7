"""Where everything of the local cluster lives: one state folder, nothing outside it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from devctl import checkout

REPOSITORY = Path(checkout.REPOSITORY)
"""The programs and images of this checkout; the local cluster is built from its sources."""


def state_folder() -> Path:
    """The one folder that local clusters write to: $DEVCTL_STATE_DIR or /var/lib/devctl."""
    return Path(os.environ.get("DEVCTL_STATE_DIR") or "/var/lib/devctl").absolute()


@dataclass(frozen=True)
class CachePaths:
    """What all clusters share: built programs and images, safe to delete when none is up."""

    root: Path

    @property
    def lock(self) -> Path:
        """Held while something is built."""
        return self.root / "lock"

    @property
    def programs(self) -> Path:
        """One folder per program group and content hash."""
        return self.root / "programs"

    @property
    def go_toolchain(self) -> Path:
        """The Go toolchain from PyPI, where the host has none."""
        return self.root / "go"

    @property
    def go_work(self) -> Path:
        """Go's module and build caches; gone after each build."""
        return self.root / "go-work"

    @property
    def images(self) -> Path:
        """One archive per image and content hash."""
        return self.root / "images"

    @property
    def buildah(self) -> Path:
        """Buildah's own store: the layers that builds start from."""
        return self.root / "buildah"

    @property
    def node_roots(self) -> Path:
        """The unpacked node image, one folder per content hash."""
        return self.root / "node-roots"

    @property
    def logs(self) -> Path:
        """One log per built thing."""
        return self.root / "logs"


@dataclass(frozen=True)
class ClusterPaths:
    """One cluster's own folder."""

    root: Path

    @property
    def settings(self) -> Path:
        """The choices made at creation."""
        return self.root / "cluster.json"

    @property
    def lock(self) -> Path:
        """Held by the one command that changes the cluster, with its pid inside."""
        return self.root / "lock"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.root / "kubeconfig"

    @property
    def logs(self) -> Path:
        """One log per supervised process, and one per command."""
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """What does not survive a reboot: sockets, pids, namespace handles."""
        return self.root / "run"

    @property
    def supervisor_config(self) -> Path:
        """What the supervisor runs."""
        return self.root / "supervisord.conf"

    @property
    def supervisor_socket(self) -> Path:
        """Where the supervisor listens."""
        return self.run / "supervisor.sock"

    @property
    def supervisor_pid(self) -> Path:
        """The supervisor's pid."""
        return self.run / "supervisord.pid"

    @property
    def shared_volumes(self) -> Path:
        """The folder behind the ReadWriteMany class; every node sees it."""
        return self.root / "volumes" / "shared"

    def node(self, name: str) -> NodePaths:
        """One node's files."""
        return NodePaths(self.root / "nodes" / name, self.run / name, self.root / "volumes" / name)


@dataclass(frozen=True)
class NodePaths:
    """One node's files: `root` outlives everything, `run` goes with the namespaces."""

    root: Path
    run: Path
    volumes: Path

    @property
    def etc(self) -> Path:
        """The node's /etc."""
        return self.root / "etc"

    @property
    def var(self) -> Path:
        """The node's /var: images, kubelet, etcd, logs."""
        return self.root / "var"

    @property
    def mount_namespace(self) -> Path:
        """The handle that keeps the mount namespace."""
        return self.run / "mnt"

    @property
    def network_namespace(self) -> Path:
        """The handle that keeps the network namespace."""
        return self.run / "net"

    @property
    def imported(self) -> Path:
        """Which image archives the node's containerd already has."""
        return self.root / "images.json"


def cache_paths() -> CachePaths:
    """The shared cache of the state folder."""
    return CachePaths(state_folder() / "cache")


def cluster_paths(name: str) -> ClusterPaths:
    """The folder of the cluster `name`."""
    return ClusterPaths(state_folder() / "clusters" / name)


def host_settings_file() -> Path:
    """Kernel settings as they were before the first `up`, to be put back by the last `down`."""
    return state_folder() / "host-settings.json"


def cluster_names() -> list[str]:
    """Every cluster that has a folder, sorted."""
    return sorted(p.parent.name for p in (state_folder() / "clusters").glob("*/cluster.json"))
