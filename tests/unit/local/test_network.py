from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devctl.local import network
from devctl.local.namespaces import enter
from devctl.local.network import (
    connect,
    disconnect,
    inside_commands,
    mark,
    masquerade_rules,
    owner,
    pod_masquerade_rules,
)
from devctl.local.paths import ClusterPaths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    """Sets which interfaces the host has; those given by keyword have that master."""
    return lambda *names, **plugged: monkeypatch.setattr(
        network,
        "interfaces",
        lambda: {
            **{name: {"ifname": name} for name in names},
            **{name: {"ifname": name, "master": master} for name, master in plugged.items()},
        },
    )


def test_a_node_gets_an_address_a_way_out_and_a_route_to_each_other_node(
    cluster: ClusterSettings,
) -> None:
    three = replace(cluster, node_count=3)
    first, second, third = three.nodes
    assert inside_commands(three, second) == [
        "link set lo up",
        "address replace 198.18.0.12/24 dev eth0",
        "link set eth0 up",
        "route replace default via 198.18.0.1",
        f"route replace {first.pod_range} via 198.18.0.11",
        f"route replace {third.pod_range} via 198.18.0.13",
    ]


def test_the_rules_replace_an_earlier_table_and_spare_what_stays_inside(
    cluster: ClusterSettings,
) -> None:
    lines = [line.strip() for line in masquerade_rules(cluster).strip().splitlines()]
    table = f"table ip {cluster.bridge}"
    # `delete` fails where there is no table, hence the `add` before it.
    assert lines[:3] == [f"add {table}", f"delete {table}", f"{table} {{"]
    assert f'ip saddr 198.18.0.0/24 oifname != "{cluster.bridge}" masquerade' in lines


def test_pods_keep_their_addresses_for_each_other_and_are_masqueraded_for_the_rest(
    cluster: ClusterSettings,
) -> None:
    lines = [line.strip() for line in pod_masquerade_rules(cluster).splitlines() if line]
    table, earlier = "table ip devctl-pods", "table inet cni_plugins_masquerade"
    assert lines[:2] == [f"add {earlier}", f"delete {earlier}"]
    assert lines[2:5] == [f"add {table}", f"delete {table}", f"{table} {{"]
    pods = "198.18.32.0/19"
    assert f"ip saddr {pods} ip daddr != {{ {pods}, 224.0.0.0/4 }} masquerade" in lines


def test_the_bridge_and_every_cable_are_made_on_a_bare_host(
    cluster: ClusterSettings,
    paths: ClusterPaths,
    calls: list[tuple[list[str], str]],
    present: Callable[..., None],
) -> None:
    present("lo", "eth0")
    assert connect(cluster, paths, ROOT)
    bridge, alias, *cables, nft = calls
    assert bridge[0] == ["ip", "-batch", "-"]
    assert bridge[1].splitlines()[1] == f"address add 198.18.0.1/24 dev {cluster.bridge}"
    assert alias[0] == ["ip", "link", "set", cluster.bridge, "alias", str(paths.root)]
    texts = [text for _, text in cables]
    for node in cluster.nodes:
        namespace = paths.node(node.name).network_namespace
        cable = f"link add {node.interface} type veth peer name eth0 netns {namespace}"
        inside = "\n".join(inside_commands(cluster, node))
        plug = f"link set {node.interface} master {cluster.bridge} up"
        # Plugging in comes last: it is the sign that the rest was done.
        assert texts.index(cable) < texts.index(inside) < texts.index(plug)
    assert nft[0][:3] == ["chroot", str(ROOT), "nft"]


def test_only_a_new_node_gets_a_cable_but_all_learn_the_way_to_its_pods(
    cluster: ClusterSettings,
    paths: ClusterPaths,
    calls: list[tuple[list[str], str]],
    present: Callable[..., None],
) -> None:
    first, second = cluster.nodes
    present("lo", cluster.bridge, **{first.interface: cluster.bridge})
    assert connect(cluster, paths, ROOT)
    texts = [text for _, text in calls]
    assert any(text.startswith(f"link add {second.interface} ") for text in texts)
    assert not any("link add" in text and first.interface in text for text in texts)
    for node in cluster.nodes:
        assert "\n".join(inside_commands(cluster, node)) in texts


def test_a_cable_that_a_killed_up_did_not_plug_in_is_made_anew(
    cluster: ClusterSettings,
    paths: ClusterPaths,
    calls: list[tuple[list[str], str]],
    present: Callable[..., None],
) -> None:
    first, second = cluster.nodes
    present(cluster.bridge, second.interface, **{first.interface: cluster.bridge})
    assert connect(cluster, paths, ROOT)
    remade = next(text for _, text in calls if "link add" in text).splitlines()
    assert remade[0] == f"link delete {second.interface}"


def test_a_connected_cluster_is_left_alone(
    cluster: ClusterSettings,
    paths: ClusterPaths,
    calls: list[tuple[list[str], str]],
    present: Callable[..., None],
) -> None:
    present(cluster.bridge, **{node.interface: cluster.bridge for node in cluster.nodes})
    assert not connect(cluster, paths, ROOT)
    # One of an earlier release did not say whose it was.
    alias = ["ip", "link", "set", cluster.bridge, "alias", str(paths.root)]
    assert calls[0][0] == alias
    rules = [nft for nft, _ in calls[1:]]
    insides = [[*enter(paths.node(node.name)), "nft"] for node in cluster.nodes]
    assert [argv[:-2] for argv in rules] == [*insides, ["chroot", str(ROOT), "nft"]]


def test_the_bridge_says_whose_it_is(
    cluster: ClusterSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/sbin/{name}")
    links = {cluster.bridge: {"ifalias": "/state/clusters/lab"}, "lo": {}}
    monkeypatch.setattr(network, "interfaces", lambda: links)
    assert owner(cluster) == "/state/clusters/lab"
    del links[cluster.bridge]["ifalias"]
    assert owner(cluster) == ""
    # The kernel keeps 255 characters.
    assert mark(ClusterPaths(Path("/" + "n" * 300))) == "n" * 255


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
