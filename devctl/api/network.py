"""The network plugins' agents, one per node, which give pods their connections and policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

AGENT = "k8s-app"
"""The label by which they are found; its value is the plugin's name."""
AGENTS = ("aws-node", "calico-node", "canal", "cilium", "kube-router")
"""Its values, from the plugins' own manifests: those that enforce NetworkPolicies."""
NAMESPACES = ("calico-system", "cilium", "kube-system")
"""Where they run, so that no user's pod is taken for one."""


class Agent(NamedTuple):
    """One pod of an agent."""

    node: str
    """Empty until it is scheduled."""
    plugin: str
    ready: bool


def awaited(agents: Iterable[Agent]) -> dict[str, str]:
    """The plugin of each node whose agent is not ready.

    While an agent is being replaced, its node may have two pods of it.

    >>> awaited([Agent("a", "cilium", False), Agent("a", "cilium", True)])
    {}
    """
    known = list(agents)
    ready = {(one.node, one.plugin) for one in known if one.ready}
    without = (one for one in known if one.node and (one.node, one.plugin) not in ready)
    return {one.node: one.plugin for one in without}
