"""What a local cluster is made of: its name, its nodes, its address ranges, its parts."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.errors import DevctlError, HostError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
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
    address: IPv4Address
    pod_range: IPv4Network
    interface: str
    """The host's end of the node's veth pair."""


@dataclass(frozen=True)
class ClusterSettings:
    """The choices made when a cluster was created, or last brought up with other ones."""

    name: str
    node_count: int
    node_range: IPv4Network
    pod_range: IPv4Network
    service_range: IPv4Network
    parts: tuple[str, ...] = ()
    """The optional parts, by name."""

    def __post_init__(self) -> None:
        """Validate the settings.

        Raises:
            UsageError: The name is not a DNS label, the number of nodes is out of range, or the
                ranges overlap or are too small.
        """
        check_name(self.name)
        check_node_count(self.node_count)
        ranges = self.ranges._asdict()
        for label, network in ranges.items():
            longest = 22 if label == "pod" else 24
            if network.prefixlen > longest:
                raise UsageError(
                    f"{label} range `{network}` is too small",
                    f"give a range of at least /{longest}",
                )
        for (a, a_range), (b, b_range) in combinations(ranges.items(), 2):
            if a_range.overlaps(b_range):
                raise UsageError(
                    f"{a} range `{a_range}` overlaps {b} range `{b_range}`",
                    "give ranges that do not overlap",
                )

    @property
    def ranges(self) -> Ranges:
        """The three address ranges."""
        return Ranges(self.node_range, self.pod_range, self.service_range)

    @property
    def bridge(self) -> str:
        """The host's bridge that connects all nodes; names of interfaces have 15 characters."""
        return f"dvc{hashlib.sha256(self.name.encode()).hexdigest()[:6]}"

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
                address=self.node_range[FIRST_NODE_HOST + number],
                pod_range=pod_range,
                interface=f"{self.bridge}n{number}",
            )
            for number, pod_range in zip(range(1, self.node_count + 1), pod_ranges, strict=False)
        )

    def to_json(self) -> dict[str, Any]:
        """The form that is stored in cluster.json."""
        ranges = {f"{label}Range": str(each) for label, each in self.ranges._asdict().items()}
        parts = list(self.parts)
        return {"name": self.name, "nodes": self.node_count, **ranges, "parts": parts}


def check_name(name: str) -> None:
    """Raise UsageError unless the name is a short DNS label."""
    if not NAME_PATTERN.fullmatch(name):
        raise UsageError(
            f"cluster name `{name}` is not valid",
            "use lower-case letters, digits and `-`, starting with a letter, 30 at most",
        )


def check_node_count(count: int) -> None:
    """Raise UsageError unless the number is between 1 and MAX_NODES."""
    if not 1 <= count <= MAX_NODES:
        raise UsageError(f"{count} nodes are not possible", f"give `--nodes` 1 to {MAX_NODES}")


def load_settings(path: Path) -> ClusterSettings | None:
    """The stored settings, or None; raises DevctlError if the file is damaged."""
    try:
        stored = json.loads(path.read_text())
        ranges = (IPv4Network(stored[f"{label}Range"]) for label in Ranges._fields)
        parts = tuple(map(str, stored.get("parts", ())))
        node, pod, service = ranges
        return ClusterSettings(stored["name"], int(stored["nodes"]), node, pod, service, parts)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise DevctlError(
            f"`{path}` is damaged: {error}", "restore it, or remove the cluster's folder"
        ) from error


# RFC 2544's benchmarking range: it is not routed, and offices, clouds and VPNs do not use it,
# unlike 10/8, 172.16/12, 192.168/16 and 100.64/10.
POOL = IPv4Network("198.18.0.0/15")
BLOCK_PREFIX = 18


class Ranges(NamedTuple):
    """The three ranges of one cluster."""

    node: IPv4Network
    pod: IPv4Network
    service: IPv4Network


class WantedRanges(NamedTuple):
    """The requested ranges; None for a free one."""

    node: IPv4Network | None = None
    pod: IPv4Network | None = None
    service: IPv4Network | None = None


class Claim(NamedTuple):
    """A range in use, and its user."""

    network: IPv4Network
    holder: str
    interface: str = ""


def block_ranges(block: IPv4Network) -> Ranges:
    """Cut a /18 into nodes (/24), services (/20) and pods (/19).

    >>> block_ranges(IPv4Network("198.18.0.0/18")).pod
    IPv4Network('198.18.32.0/19')
    """
    base = int(block.network_address)
    return Ranges(
        node=IPv4Network((base, 24)),
        service=IPv4Network((base + (16 << 8), 20)),
        pod=IPv4Network((base + (32 << 8), 19)),
    )


def choose_ranges(claims: Iterable[Claim]) -> Ranges:
    """The first free block of the pool; raises HostError if there is none."""
    claims = list(claims)
    for block in POOL.subnets(new_prefix=BLOCK_PREFIX):
        if not any(block.overlaps(claim.network) for claim in claims):
            return block_ranges(block)
    holders = ", ".join(sorted({c.holder for c in claims if c.network.overlaps(POOL)}))
    raise HostError(
        f"no address range is left in {POOL}: {holders}",
        "give `--node-range`, `--pod-range` and `--service-range`, or take a cluster down",
    )


def check_ranges(ranges: Ranges, claims: Iterable[Claim]) -> None:
    """Raise HostError if one of the ranges is in use."""
    for (label, network), claim in product(ranges._asdict().items(), claims):
        if network.overlaps(claim.network):
            raise HostError(
                f"{label} range `{network}` is in use by {claim.holder} ({claim.network})",
                f"give another `--{label}-range`",
            )
