from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Network
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.errors import DevctlError, UsageError
from devctl.local.settings import (
    MAX_NODES,
    NAME_PATTERN,
    POOL,
    ClusterSettings,
    block_ranges,
    check_name,
    check_node_count,
    load_settings,
)

if TYPE_CHECKING:
    from pathlib import Path

NODE, POD, SERVICE = (IPv4Network(r) for r in ("10.1.0.0/24", "10.2.0.0/22", "10.3.0.0/24"))

clusters = st.builds(
    lambda name, count, block: ClusterSettings(name, count, *block_ranges(block)),
    st.from_regex(NAME_PATTERN, fullmatch=True),
    st.integers(1, MAX_NODES),
    st.sampled_from(list(POOL.subnets(new_prefix=18))),
)


@pytest.mark.parametrize("name", ["a", "devctl", "e2e-2", "x" * 30])
def test_a_short_dns_label_is_a_name(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize(
    "name", ["", "1a", "-a", "a-", "A", "a_b", "a.b", "a/b", "../a", "x" * 31, "a\n"]
)
def test_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is not valid"):
        check_name(name)


@pytest.mark.parametrize("count", [-1, 0, MAX_NODES + 1])
def test_an_unknown_number_of_nodes_is_refused(count: int) -> None:
    with pytest.raises(UsageError, match=f"^{count} nodes are not possible"):
        check_node_count(count)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ((IPv4Network("10.1.0.0/25"), POD, SERVICE), "node range `10.1.0.0/25` is too small"),
        ((NODE, IPv4Network("10.2.0.0/23"), SERVICE), "pod range `10.2.0.0/23` is too small"),
        ((NODE, POD, IPv4Network("10.3.0.0/25")), "service range `10.3.0.0/25` is too small"),
        ((NODE, IPv4Network("10.0.0.0/8"), SERVICE), "node range .* overlaps pod range"),
        ((NODE, POD, NODE), "node range .* overlaps service range"),
        ((NODE, POD, IPv4Network("10.2.1.0/24")), "pod range .* overlaps service range"),
    ],
)
def test_ranges_that_cannot_work_are_refused(
    ranges: tuple[IPv4Network, IPv4Network, IPv4Network], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        ClusterSettings("lab", 1, *ranges)


@given(clusters)
def test_nodes_share_no_address_and_stay_in_their_ranges(cluster: ClusterSettings) -> None:
    assert len(cluster.nodes) == cluster.node_count
    addresses = [cluster.gateway, *(node.address for node in cluster.nodes)]
    assert len(set(addresses)) == len(addresses)
    assert all(address in cluster.node_range for address in addresses)
    pod_ranges = [node.pod_range for node in cluster.nodes]
    assert all(pod_range.subnet_of(cluster.pod_range) for pod_range in pod_ranges)
    assert not any(a.overlaps(b) for a, b in combinations(pod_ranges, 2))
    assert cluster.dns_address in cluster.service_range


@given(clusters)
def test_interface_names_fit_into_the_kernels_15_characters(cluster: ClusterSettings) -> None:
    names = [cluster.bridge, *(node.interface for node in cluster.nodes)]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 15


@given(clusters)
def test_more_nodes_leave_the_first_ones_as_they_are(cluster: ClusterSettings) -> None:
    more = replace(cluster, node_count=MAX_NODES)
    assert more.nodes[: cluster.node_count] == cluster.nodes


def test_two_clusters_have_different_bridges(cluster: ClusterSettings) -> None:
    assert replace(cluster, name="other").bridge != cluster.bridge


def test_stored_settings_come_back(cluster: ClusterSettings, tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(cluster.to_json()))
    assert load_settings(file) == cluster


def test_no_file_means_no_cluster(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "cluster.json") is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"name": "lab", "nodes": "many"}', "\x00\x01"]
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(text)
    with pytest.raises(DevctlError, match="is damaged") as raised:
        load_settings(file)
    assert str(file) in raised.value.message
    assert raised.value.fix
