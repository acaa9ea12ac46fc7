"""The network plugins' agents, one per node, which give pods their connections and policies."""

from __future__ import annotations

AGENT = "k8s-app"
"""The label by which they are found; its value is the plugin's name."""
AGENTS = ("aws-node", "calico-node", "canal", "cilium", "kube-router")
"""Its values, from the plugins' own manifests: those that enforce NetworkPolicies."""
NAMESPACES = ("calico-system", "cilium", "kube-system")
"""Where they run, so that no user's pod is taken for one."""
