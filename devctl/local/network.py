"""The cluster's network on the host: a bridge, a veth pair per node, and an nftables table.

All are named after the cluster. Pod bridges and service rules are inside the nodes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

from devctl.local.commands import capture
from devctl.local.namespaces import enter
from devctl.local.settings import Claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings, Node

# The node's end of its veth pair.
NODE_INTERFACE = "eth0"
# The most that the kernel stores of an interface's alias.
_ALIAS = 255
_DEFAULT_ROUTES = ("default", "0.0.0.0/1", "128.0.0.0/1")
_UNUSED_TYPES = {"broadcast", "local", "multicast"}


def read_claims() -> list[Claim]:
    """The address ranges that this host uses; raises StepError if `ip` is missing or fails."""
    what = "read the host's addresses"
    addresses = json.loads(capture(["ip", "-json", "-4", "address"], what=what) or "[]")
    routes = capture(["ip", "-json", "-4", "route", "show", "table", "all"], what=what)
    return host_claims(addresses, json.loads(routes or "[]"))


def host_claims(
    addresses: Iterable[Mapping[str, Any]], routes: Iterable[Mapping[str, Any]]
) -> list[Claim]:
    """The address ranges in what `ip -json -4` prints."""
    claims = [
        Claim(
            IPv4Network((info["local"], info["prefixlen"]), strict=False),
            f"interface `{link['ifname']}`",
            link["ifname"],
        )
        for link in addresses
        for info in link.get("addr_info", [])
        if info.get("family") == "inet"
    ]
    for route in routes:
        destination = route.get("dst", "default")
        if destination in _DEFAULT_ROUTES or route.get("type") in _UNUSED_TYPES:
            continue
        device = route.get("dev", "")
        holder = f"a route through `{device}`" if device else "a route"
        claims.append(Claim(IPv4Network(destination, strict=False), holder, device))
    return claims


def interfaces() -> dict[str, dict[str, Any]]:
    """The host's interfaces, by name."""
    links = json.loads(capture(["ip", "-json", "link"], what="read the host's interfaces"))
    return {link["ifname"]: link for link in links}


def mark(paths: ClusterPaths) -> str:
    """The bridge's alias, which names its owner: the cluster's folder, or the end of that."""
    return str(paths.root)[-_ALIAS:]


def owner(settings: ClusterSettings) -> str:
    """The alias of the bridge of a cluster of this name; empty if there is none."""
    if not shutil.which("ip"):
        return ""
    return str(interfaces().get(settings.bridge, {}).get("ifalias", ""))


def connect(settings: ClusterSettings, paths: ClusterPaths, image_root: Path) -> bool:
    """Connect every node to the bridge; returns whether anything was missing."""
    present = interfaces()
    ip = ["ip", "-batch", "-"]
    if settings.bridge not in present:
        prefix = settings.node_range.prefixlen
        bridge_commands = [
            f"link add name {settings.bridge} type bridge",
            f"address add {settings.gateway}/{prefix} dev {settings.bridge}",
            f"link set {settings.bridge} up",
        ]
        capture(ip, what="make the bridge", input_text="\n".join(bridge_commands))
    # A cluster of the same name in another state folder has a bridge of the same name.
    if present.get(settings.bridge, {}).get("ifalias") != mark(paths):
        alias = ["ip", "link", "set", settings.bridge, "alias", mark(paths)]
        capture(alias, what="say whose the bridge is")
    # The master is set last: an interface without one is from a killed `up`.
    new = [n for n in settings.nodes if "master" not in present.get(n.interface, {})]
    for node in new:
        what = f"set up the network of node `{node.name}`"
        namespace = paths.node(node.name).network_namespace
        add = f"link add {node.interface} type veth peer name {NODE_INTERFACE} netns {namespace}"
        stale = [f"link delete {node.interface}"] if node.interface in present else []
        capture(ip, what=what, input_text="\n".join([*stale, add]))
    # The others need a route to a new node's pods, too.
    for node in settings.nodes if new else ():
        what = f"set up the network of node `{node.name}`"
        inside = "\n".join(inside_commands(settings, node))
        capture([*enter(paths.node(node.name)), *ip], what=what, input_text=inside)
        plug = f"link set {node.interface} master {settings.bridge} up"
        capture(ip, what=what, input_text=plug)
    for node in settings.nodes:
        what = f"install the nftables table of node `{node.name}`"
        nft_inside = [*enter(paths.node(node.name)), "nft", "--file", "-"]
        capture(nft_inside, what=what, input_text=pod_masquerade_rules(settings))
    # The host's nft may be too old for tables that other programs wrote; the node image's is not.
    nft: list[str | Path] = ["chroot", image_root, "nft", "--file", "-"]
    capture(nft, what="install the cluster's nftables table", input_text=masquerade_rules(settings))
    return bool(settings.bridge not in present or new)


def inside_commands(settings: ClusterSettings, node: Node) -> list[str]:
    """What `ip` does in a node: its address, the default route, routes to other nodes' pods."""
    others = [other for other in settings.nodes if other != node]
    return [
        "link set lo up",
        f"address replace {node.address}/{settings.node_range.prefixlen} dev {NODE_INTERFACE}",
        f"link set {NODE_INTERFACE} up",
        f"route replace default via {settings.gateway}",
        *(f"route replace {other.pod_range} via {other.address}" for other in others),
    ]


def masquerade_rules(settings: ClusterSettings) -> str:
    """An idempotent nftables script that lets nodes reach what the host reaches."""
    rule = f'ip saddr {settings.node_range} oifname != "{settings.bridge}" masquerade'
    return _masquerade(settings.bridge, rule)


def pod_masquerade_rules(settings: ClusterSettings) -> str:
    """An idempotent nftables script that lets a node's pods reach what the node reaches.

    Pods see each other's own addresses, on other nodes too: a policy goes by them.
    """
    pods = settings.pod_range
    rule = f"ip saddr {pods} ip daddr != {{ {pods}, 224.0.0.0/4 }} masquerade"
    # In a cluster that an earlier release started, the bridge plugin masqueraded each pod.
    earlier = "table inet cni_plugins_masquerade"
    return f"add {earlier}\ndelete {earlier}\n{_masquerade('devctl-pods', rule)}"


def _masquerade(table: str, rule: str) -> str:
    return f"""
add table ip {table}
delete table ip {table}
table ip {table} {{
  chain postrouting {{
    type nat hook postrouting priority srcnat;
    {rule}
  }}
}}
"""


def disconnect(settings: ClusterSettings, image_root: Path | None) -> None:
    """Remove everything that `connect` made, as far as it exists."""
    present = interfaces()
    # The node's end disappears with the host's, even if the namespace still exists.
    for name in [*(n for n in present if n.startswith(f"{settings.bridge}n")), settings.bridge]:
        if name in present:
            capture(["ip", "link", "delete", name], what=f"remove interface `{name}`")
    if image_root:
        # The table may be missing: `up` may have failed halfway.
        subprocess.run(
            ["chroot", image_root, "nft", "delete", "table", "ip", settings.bridge],
            capture_output=True,
            check=False,
        )
