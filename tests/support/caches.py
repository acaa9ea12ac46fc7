"""The node caches of a cluster: what they are to have, what they say, and what starts there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from support.cache_plans import PLAN, lines
from support.servers import wait_until
from support.stores import Stores

from devctl.api.node_cache import AGENT, AGENT_NAMESPACE, ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from support.commands import Kubectl

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

_DAEMONSET = (f"daemonset/{AGENT}", "-n", AGENT_NAMESPACE)
_LEAST = 8 << 20
"""Bytes that no small layer or file has."""


@dataclass(frozen=True)
class Caches:
    """All of them.

    Attributes:
        kubectl: The administrator's.
        settings: The cluster, with the parts `cache` and `stores`.
        paths: Its files.
        namespace: Where pods are started.
        base: The docker archive of an image with a program `true`.
        folder: Where images are made.
    """

    kubectl: Kubectl
    settings: ClusterSettings
    paths: ClusterPaths
    namespace: str
    base: Path
    folder: Path

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes."""
        return [each.name for each in self.settings.nodes]

    @property
    def last(self) -> str:
        """The node on which one is enough."""
        return self.nodes[-1]

    @property
    def stores(self) -> Stores:
        """Where everything comes from."""
        return Stores(self.kubectl, self.settings)

    def root(self, node: str) -> Path:
        """The folder of a node's cache, as the host sees it."""
        return self.paths.node(node).var / ROOT.removeprefix("/var/")

    def plan(self, *items: dict[str, Any]) -> None:
        """Set the plan."""
        self.kubectl.api.apply({**PLAN, "spec": {"items": list(items)}})

    def push(self, name: str, length: int) -> str:
        """Push an image with so many random bytes; its reference."""
        return self.stores.push(name, self.base, self.folder / name.replace("/", "-"), length)

    def wait_for(self, node: str, field: str, name: str, status: str) -> dict[str, Any]:
        """Wait until a node's agent says that about an item; all that it says."""

        def said() -> dict[str, Any]:
            return lines(self.kubectl, node, field).get(name, {})

        wait_until(lambda: said().get("status") == status, lambda: f"{node}: {said()}", 300)
        return said()

    def has_begun(self, node: str, pattern: str, length: int) -> bool:
        """Whether some of a large file has come to a node, and not half of it.

        Args:
            node: The node.
            pattern: Where the file is, below the node's /var.
            length: Its bytes.
        """
        for file in self.paths.node(node).var.glob(pattern):
            try:
                if _LEAST < file.stat().st_size < length // 2:
                    return True
            except FileNotFoundError:
                continue
        return False

    def start(self, node: str, ref: str, policy: str = "Never") -> str:
        """Start a pod on a node, and wait until it has run; its name.

        Args:
            node: The node.
            ref: The image.
            policy: When it is pulled: by default, the node must have it.
        """
        name = f"start-{uuid4().hex[:6]}"
        main = {"name": "main", "image": ref, "imagePullPolicy": policy, "command": ["true"]}
        spec = {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "restartPolicy": "Never",
            "containers": [main],
        }
        metadata = {"name": name, "namespace": self.namespace}
        self.kubectl.api.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )

        def has_run(found: dict[str, Any]) -> bool:
            return bool(found.get("status", {}).get("phase") == "Succeeded")

        where = (name, self.namespace)
        assert self.kubectl.api.follow("pod", *where, has_run, 600), f"{ref} does not run on {node}"
        return name

    def leave_free(self, percent: int) -> None:
        """Restart the agents, which are to leave so much of the disk free."""
        self.kubectl("set", "env", *_DAEMONSET, f"CACHE_FREE_PERCENT={percent}")
        self.kubectl("rollout", "status", *_DAEMONSET, "--timeout=180s")
