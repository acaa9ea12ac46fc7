"""What a local cluster is made of: its name, its nodes and its address ranges."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any

from devctl.errors import DevctlError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

MAX_NODES = 4
# A node's name is <cluster>-<number> and must stay a DNS label that fits into an interface's alias.
NAME_PATTERN = re.compile(r"[a-z]([a-z0-9-]{0,28}[a-z0-9])?")
# Node N has address number FIRST_NODE_HOST + N of the node range; number 1 is the bridge.
FIRST_NODE_HOST = 10


@dataclass(frozen=True)
class Node:
    """One node: a network and a mount namespace with a containerd and a kubelet."""

    name: str
    index: int
    address: IPv4Address
    pod_range: IPv4Network
    interface: str
    """The host's end of the node's cable."""


@dataclass(frozen=True)
class ClusterSettings:
    """The choices made when a cluster was created; they stay for its life."""

    name: str
    node_count: int
    node_range: IPv4Network
    pod_range: IPv4Network
    service_range: IPv4Network

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            UsageError: A name that is no DNS label, an unknown number of nodes, or ranges that
                overlap or are too small.
        """
        check_name(self.name)
        check_node_count(self.node_count)
        ranges = {"node": self.node_range, "pod": self.pod_range, "service": self.service_range}
        for label, network in ranges.items():
            if network.prefixlen > (22 if label == "pod" else 24):
                raise UsageError(
                    f"{label} range `{network}` is too small",
                    f"give a range of at least /{22 if label == 'pod' else 24}",
                )
        for (a, a_range), (b, b_range) in [
            (x, y) for x in ranges.items() for y in ranges.items() if x[0] < y[0]
        ]:
            if a_range.overlaps(b_range):
                raise UsageError(
                    f"{a} range `{a_range}` overlaps {b} range `{b_range}`",
                    "give ranges that do not overlap",
                )

    @property
    def short_id(self) -> str:
        """Six characters that stand for the name where an interface's 15 must do."""
        return hashlib.sha256(self.name.encode()).hexdigest()[:6]

    @property
    def bridge(self) -> str:
        """The host interface that all nodes are plugged into."""
        return f"dvc{self.short_id}"

    @property
    def gateway(self) -> IPv4Address:
        """The bridge's address: the way out of the cluster."""
        return self.node_range[1]

    @property
    def dns_address(self) -> IPv4Address:
        """CoreDNS's service address: kubeadm always takes number ten."""
        return self.service_range[10]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes; the first one runs the control plane."""
        pod_ranges = self.pod_range.subnets(new_prefix=self.pod_range.prefixlen + 2)
        return tuple(
            Node(
                name=f"{self.name}-{number}",
                index=number,
                address=self.node_range[FIRST_NODE_HOST + number],
                pod_range=pod_range,
                interface=f"dvc{self.short_id}n{number}",
            )
            for number, pod_range in zip(range(1, self.node_count + 1), pod_ranges, strict=False)
        )

    def to_json(self) -> dict[str, Any]:
        """The form that is stored in cluster.json."""
        return {
            "name": self.name,
            "nodes": self.node_count,
            "nodeRange": str(self.node_range),
            "podRange": str(self.pod_range),
            "serviceRange": str(self.service_range),
        }


def check_name(name: str) -> None:
    """Refuse a cluster name that cannot be a host name.

    Raises:
        UsageError: The name is not a short DNS label.
    """
    if not NAME_PATTERN.fullmatch(name):
        raise UsageError(
            f"cluster name `{name}` is not valid",
            "use lower-case letters, digits and `-`, starting with a letter, 30 at most",
        )


def check_node_count(count: int) -> None:
    """Refuse an unknown number of nodes.

    Raises:
        UsageError: Not between 1 and MAX_NODES.
    """
    if not 1 <= count <= MAX_NODES:
        raise UsageError(f"{count} nodes are not possible", f"give `--nodes` 1 to {MAX_NODES}")


def load_settings(path: Path) -> ClusterSettings | None:
    """The stored settings; None where the cluster was never created.

    Raises:
        DevctlError: The file is there but cannot be understood.
    """
    try:
        stored = json.loads(path.read_text())
        return ClusterSettings(
            name=stored["name"],
            node_count=int(stored["nodes"]),
            node_range=IPv4Network(stored["nodeRange"]),
            pod_range=IPv4Network(stored["podRange"]),
            service_range=IPv4Network(stored["serviceRange"]),
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise DevctlError(
            f"`{path}` is damaged: {error}", "restore it, or remove the cluster's folder"
        ) from error
