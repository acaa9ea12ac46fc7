"""Address ranges: choosing free ones, and naming who has a taken one."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any, NamedTuple

from devctl.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# RFC 2544's benchmarking range: routed nowhere, and unlike 10/8, 172.16/12, 192.168/16 and
# 100.64/10 not what offices, clouds and VPNs number their machines with.
POOL = IPv4Network("198.18.0.0/15")
BLOCK_PREFIX = 18
_DEFAULT_ROUTES = ("default", "0.0.0.0/1", "128.0.0.0/1")


class Ranges(NamedTuple):
    """The three ranges of one cluster."""

    node: IPv4Network
    pod: IPv4Network
    service: IPv4Network


class WantedRanges(NamedTuple):
    """The ranges that somebody asked for; None leaves the choice to us."""

    node: IPv4Network | None = None
    pod: IPv4Network | None = None
    service: IPv4Network | None = None


class Claim(NamedTuple):
    """A range that somebody uses, and who."""

    network: IPv4Network
    holder: str


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


def host_claims(
    addresses: Iterable[Mapping[str, Any]], routes: Iterable[Mapping[str, Any]]
) -> list[Claim]:
    """The ranges that the host itself uses.

    Args:
        addresses: What `ip -json -4 address` prints.
        routes: What `ip -json -4 route show table all` prints.
    """
    claims = [
        Claim(
            IPv4Network((info["local"], info["prefixlen"]), strict=False),
            f"interface `{link['ifname']}`",
        )
        for link in addresses
        for info in link.get("addr_info", [])
        if info.get("family") == "inet"
    ]
    for route in routes:
        destination = route.get("dst", "default")
        if destination in _DEFAULT_ROUTES or route.get("type") in {
            "broadcast",
            "local",
            "multicast",
        }:
            continue
        holder = f"a route through `{route['dev']}`" if "dev" in route else "a route"
        claims.append(Claim(IPv4Network(destination, strict=False), holder))
    return claims


def first_conflict(
    ranges: Ranges, claims: Iterable[Claim]
) -> tuple[str, IPv4Network, Claim] | None:
    """The first range that somebody else has: its label, itself, and the claim on it."""
    claims = list(claims)
    for label, network in ranges._asdict().items():
        for claim in claims:
            if network.overlaps(claim.network):
                return label, network, claim
    return None


def choose_ranges(claims: Iterable[Claim]) -> Ranges:
    """The first block of the pool that nobody uses.

    Raises:
        HostError: Every block is taken.
    """
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
    """Refuse ranges that somebody else uses.

    Raises:
        HostError: Names the range and who has it.
    """
    conflict = first_conflict(ranges, claims)
    if conflict:
        label, network, claim = conflict
        raise HostError(
            f"{label} range `{network}` is in use by {claim.holder} ({claim.network})",
            f"give another `--{label}-range`",
        )
