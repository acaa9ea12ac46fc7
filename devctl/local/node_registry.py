"""How the nodes' container runtimes reach an image registry in the cluster.

A node resolves no names of services, and its runtime expects TLS. So the registry's service has a
fixed address, and containerd a file that leads from the registry's name to it. containerd reads the
file at each pull.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipaddress import IPv4Address

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

# Of the part of the range from which Kubernetes gives out addresses last.
_NUMBER = 20


def address(settings: ClusterSettings) -> IPv4Address:
    """The service address of the registry."""
    return settings.service_range[_NUMBER]


def introduce(settings: ClusterSettings, paths: ClusterPaths, name: str) -> None:
    """Tell every node's containerd where the registry of that name is."""
    for node in settings.nodes:
        folder = paths.node(node.name).etc / "containerd" / "certs.d" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hosts.toml").write_text(hosts(settings))


def hosts(settings: ClusterSettings) -> str:
    """What containerd reads about the registry; the scheme says that there is no TLS."""
    return f'server = "http://{address(settings)}"\n'
