"""The cluster's network on the host: a bridge, a cable per node, and a way out.

The host's own share is one interface pair per node, one bridge and one nftables table, all named
after the cluster. Everything else (pod bridges, service rules) is inside the nodes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from devctl.local.commands import capture
from devctl.local.namespaces import enter
from devctl.local.ranges import Claim, host_claims

if TYPE_CHECKING:
    from pathlib import Path

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings, Node

# The node's end of its cable.
NODE_INTERFACE = "eth0"
# The kernel keeps so much of an interface's alias.
_ALIAS = 255


def read_claims() -> list[Claim]:
    """The address ranges that this host uses.

    Raises:
        StepError: `ip` is missing or failed.
    """
    what = "read the host's addresses"
    addresses = json.loads(capture(["ip", "-json", "-4", "address"], what=what) or "[]")
    routes = capture(["ip", "-json", "-4", "route", "show", "table", "all"], what=what)
    return host_claims(addresses, json.loads(routes or "[]"))


def interfaces() -> dict[str, dict[str, Any]]:
    """The host's interfaces, by name."""
    links = json.loads(capture(["ip", "-json", "link"], what="read the host's interfaces"))
    return {link["ifname"]: link for link in links}


def mark(paths: ClusterPaths) -> str:
    """What the bridge says of whose it is: the cluster's folder, or the end of it."""
    return str(paths.root)[-_ALIAS:]


def owner(settings: ClusterSettings) -> str:
    """What the bridge of a cluster of this name says; empty if none is there, or none tells."""
    if not shutil.which("ip"):
        return ""
    return str(interfaces().get(settings.bridge, {}).get("ifalias", ""))


def connect(settings: ClusterSettings, paths: ClusterPaths, image_root: Path) -> bool:
    """Plug every node into the bridge; returns whether anything had to be made.

    Raises:
        StepError: An interface could not be made.
    """
    present = interfaces()
    ip = ["ip", "-batch", "-"]
    bridge_commands = []
    if settings.bridge not in present:
        prefix = settings.node_range.prefixlen
        bridge_commands = [
            f"link add name {settings.bridge} type bridge",
            f"address add {settings.gateway}/{prefix} dev {settings.bridge}",
            f"link set {settings.bridge} up",
        ]
        capture(ip, what="make the bridge", input_text="\n".join(bridge_commands))
    # Names on the host are made of the cluster's: one in another state folder has the same.
    if present.get(settings.bridge, {}).get("ifalias") != mark(paths):
        alias = ["ip", "link", "set", settings.bridge, "alias", mark(paths)]
        capture(alias, what="say whose the bridge is")
    # Plugging a cable in is the last step: one without its master is what a killed `up` left.
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
    masquerade(settings, image_root)
    return bool(bridge_commands or new)


def inside_commands(settings: ClusterSettings, node: Node) -> list[str]:
    """What `ip` does inside a node: its address, the way out, a route to the others' pods."""
    others = [other for other in settings.nodes if other != node]
    return [
        "link set lo up",
        f"address replace {node.address}/{settings.node_range.prefixlen} dev {NODE_INTERFACE}",
        f"link set {NODE_INTERFACE} up",
        f"route replace default via {settings.gateway}",
        *(f"route replace {other.pod_range} via {other.address}" for other in others),
    ]


def masquerade_rules(settings: ClusterSettings) -> str:
    """An nftables script that lets nodes reach what the host reaches, idempotent."""
    table = f"ip {settings.bridge}"
    return f"""
add table {table}
delete table {table}
table {table} {{
  chain postrouting {{
    type nat hook postrouting priority srcnat;
    ip saddr {settings.node_range} oifname != "{settings.bridge}" masquerade
  }}
}}
"""


def masquerade(settings: ClusterSettings, image_root: Path) -> None:
    """Install the way out.

    The nft of the node image is used: the host's may be too old for tables that others wrote.

    Raises:
        StepError: nft refused.
    """
    nft: list[str | Path] = ["chroot", image_root, "nft", "--file", "-"]
    capture(nft, what="install the cluster's nftables table", input_text=masquerade_rules(settings))


def disconnect(settings: ClusterSettings, image_root: Path | None) -> None:
    """Remove everything that `connect` made; missing pieces are fine.

    Raises:
        StepError: An interface stays.
    """
    present = interfaces()
    # A node's end goes with the host's end, also when the namespace lingers.
    for name in [*(n for n in present if n.startswith(f"{settings.bridge}n")), settings.bridge]:
        if name in present:
            capture(["ip", "link", "delete", name], what=f"remove interface `{name}`")
    if image_root:
        # There may be no table: a half-way `up` is taken down the same way.
        subprocess.run(
            ["chroot", image_root, "nft", "delete", "table", "ip", settings.bridge],
            capture_output=True,
            check=False,
        )
