from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.errors import HostError
from devctl.local.network import host_claims
from devctl.local.settings import (
    BLOCK_PREFIX,
    POOL,
    Claim,
    Ranges,
    block_ranges,
    check_ranges,
    choose_ranges,
)

BLOCKS = list(POOL.subnets(new_prefix=BLOCK_PREFIX))
# Addresses in and around the pool, so that claims often touch it.
addresses = st.integers(int(POOL.network_address) - 2**16, int(POOL.broadcast_address) + 2**16)
networks = st.builds(
    lambda address, prefix: IPv4Network((address, prefix), strict=False),
    addresses,
    st.integers(14, 32),
)
claims_of_somebody = st.lists(st.builds(Claim, networks, st.just("somebody")), max_size=12)


@given(claims_of_somebody)
def test_chosen_ranges_overlap_no_claim(claims: list[Claim]) -> None:
    try:
        ranges = choose_ranges(claims)
    except HostError:
        assert all(any(block.overlaps(c.network) for c in claims) for block in BLOCKS)
    else:
        check_ranges(ranges, claims)


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_parts_of_a_block_stay_in_it_and_apart(block: IPv4Network) -> None:
    ranges = block_ranges(block)
    assert all(part.subnet_of(block) for part in ranges)
    assert not any(a.overlaps(b) for a, b in combinations(ranges, 2))


def test_the_default_ranges_are_no_common_private_network() -> None:
    private = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"]
    assert not any(POOL.overlaps(IPv4Network(network)) for network in private)


def test_a_full_pool_names_every_holder() -> None:
    claims = [Claim(block, f"cluster `{number}`") for number, block in enumerate(BLOCKS)]
    with pytest.raises(HostError) as raised:
        choose_ranges([*claims, Claim(IPv4Network("10.0.0.0/8"), "an office")])
    assert all(claim.holder in raised.value.message for claim in claims)
    assert "an office" not in raised.value.message


@pytest.mark.parametrize("label", Ranges._fields)
def test_a_conflict_names_the_range_and_its_holder(label: str) -> None:
    ranges = block_ranges(BLOCKS[0])
    network: IPv4Network = getattr(ranges, label)
    claim = Claim(IPv4Network((int(network.network_address) + 3, 32)), "interface `eth7`")
    with pytest.raises(HostError) as raised:
        check_ranges(ranges, [Claim(BLOCKS[1], "nobody near"), claim])
    message = f"{label} range `{network}` is in use by interface `eth7` ({claim.network})"
    assert raised.value.message == message
    assert f"--{label}-range" in raised.value.fix


def test_interfaces_and_routes_are_claims() -> None:
    addresses: list[dict[str, Any]] = [
        {"ifname": "lo", "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8}]},
        {"ifname": "eth0", "addr_info": [{"family": "inet", "local": "10.1.2.3", "prefixlen": 24}]},
        {"ifname": "down"},
    ]
    routes = [
        {"dst": "default", "dev": "eth0"},
        {"dst": "10.9.0.0/16", "dev": "tun0"},
        {"dst": "10.8.0.1", "dev": "tun1"},
        {"type": "blackhole", "dst": "10.7.0.0/16"},
        {"type": "local", "dst": "10.1.2.3", "dev": "eth0"},
        {"type": "broadcast", "dst": "10.1.2.255", "dev": "eth0"},
        {"type": "multicast", "dst": "224.0.0.0/4", "dev": "eth0"},
    ]
    assert host_claims(addresses, routes) == [
        Claim(IPv4Network("127.0.0.0/8"), "interface `lo`", "lo"),
        Claim(IPv4Network("10.1.2.0/24"), "interface `eth0`", "eth0"),
        Claim(IPv4Network("10.9.0.0/16"), "a route through `tun0`", "tun0"),
        Claim(IPv4Network("10.8.0.1/32"), "a route through `tun1`", "tun1"),
        Claim(IPv4Network("10.7.0.0/16"), "a route"),
    ]


def test_a_vpns_two_halves_of_the_internet_are_a_default_route() -> None:
    # OpenVPN's redirect-gateway adds these two instead of touching the default route.
    routes = [{"dst": "0.0.0.0/1", "dev": "tun0"}, {"dst": "128.0.0.0/1", "dev": "tun0"}]
    assert choose_ranges(host_claims([], routes)) == block_ranges(BLOCKS[0])
