from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devctl.local import network
from devctl.local.network import connect, disconnect, inside_commands, masquerade_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

ROOT = Path("/node-root")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], str]]:
    """What was run, and what it read."""
    calls: list[tuple[list[str], str]] = []

    def record(argv: Sequence[str | Path], *, what: str, input_text: str | None = None) -> str:
        assert what
        calls.append(([str(a) for a in argv], input_text or ""))
        return ""

    monkeypatch.setattr(network, "capture", record)
    return calls


@pytest.fixture
def present(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets which interfaces the host has."""
    return lambda *names: monkeypatch.setattr(
        network, "interfaces", lambda: {name: {"ifname": name} for name in names}
    )


def test_a_node_gets_an_address_a_way_out_and_a_route_to_each_other_node(
    cluster: ClusterSettings,
) -> None:
    three = replace(cluster, node_count=3)
    first, second, third = three.nodes
    assert inside_commands(three, second) == [
        "link set lo up",
        "address add 198.18.0.12/24 dev eth0",
        "link set eth0 up",
        "route add default via 198.18.0.1",
        f"route add {first.pod_range} via 198.18.0.11",
        f"route add {third.pod_range} via 198.18.0.13",
    ]


def test_the_rules_replace_an_earlier_table_and_spare_what_stays_inside(
    cluster: ClusterSettings,
) -> None:
    lines = [line.strip() for line in masquerade_rules(cluster).strip().splitlines()]
    table = f"table ip {cluster.bridge}"
    # `delete` fails where there is no table, hence the `add` before it.
    assert lines[:3] == [f"add {table}", f"delete {table}", f"{table} {{"]
    assert f'ip saddr 198.18.0.0/24 oifname != "{cluster.bridge}" masquerade' in lines


def test_the_bridge_and_every_cable_are_made_on_a_bare_host(
    cluster: ClusterSettings,
    paths: ClusterPaths,
    calls: list[tuple[list[str], str]],
    present: Callable[..., None],
) -> None:
    present("lo", "eth0")
    assert connect(cluster, paths, ROOT)
    host, *inside, nft = calls
    assert host[0] == ["ip", "-batch", "-"]
    commands = host[1].splitlines()
    assert commands[1] == f"address add 198.18.0.1/24 dev {cluster.bridge}"
    for node in cluster.nodes:
        namespace = paths.node(node.name).network_namespace
        cable = f"link add {node.interface} type veth peer name eth0 netns {namespace}"
        assert cable in commands
        assert f"link set {node.interface} master {cluster.bridge} up" in commands
    assert [text.splitlines() for _, text in inside] == [
        inside_commands(cluster, node) for node in cluster.nodes
    ]
    assert nft[0][:3] == ["chroot", str(ROOT), "nft"]


def test_only_a_new_node_is_plugged_in(
    cluster: ClusterSettings,
    paths: ClusterPaths,
    calls: list[tuple[list[str], str]],
    present: Callable[..., None],
) -> None:
    first, second = cluster.nodes
    present("lo", cluster.bridge, first.interface)
    assert connect(cluster, paths, ROOT)
    host, inside, _ = calls
    assert f"link add {second.interface} " in host[1]
    assert first.interface not in host[1]
    assert "type bridge" not in host[1]
    assert inside[1].splitlines() == inside_commands(cluster, second)


def test_a_connected_cluster_is_left_alone(
    cluster: ClusterSettings,
    paths: ClusterPaths,
    calls: list[tuple[list[str], str]],
    present: Callable[..., None],
) -> None:
    present(cluster.bridge, *(node.interface for node in cluster.nodes))
    assert not connect(cluster, paths, ROOT)
    assert [argv[0] for argv, _ in calls] == ["chroot"]


def test_disconnect_removes_this_clusters_interfaces_only(
    cluster: ClusterSettings,
    calls: list[tuple[list[str], str]],
    present: Callable[..., None],
) -> None:
    other = replace(cluster, name="other")
    # A fourth node may be left of a larger cluster.
    own = [f"{cluster.bridge}n1", f"{cluster.bridge}n4", cluster.bridge]
    present("lo", *own, other.bridge, other.nodes[0].interface)
    disconnect(cluster, None)
    assert [argv for argv, _ in calls] == [["ip", "link", "delete", name] for name in own]
