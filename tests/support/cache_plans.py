"""The CachePlan of a cluster, and what its nodes say of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from support.servers import wait_until

from devctl.api.node_cache import API_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from support.commands import Kubectl
    from support.sharing import Shared

PLAN = {"apiVersion": API_VERSION, "kind": "CachePlan", "metadata": {"name": "default"}}
Item = dict[str, Any]


def lines(kubectl: Kubectl, node: str, field: str) -> dict[str, dict[str, Any]]:
    """What a node's agent says about a sort of items, by name."""
    found = kubectl.api.get("nodecachestatus", node) or {}
    return {each["name"]: each for each in found.get("status", {}).get(field, [])}


def image(name: str, ref: str, **more: Any) -> Item:
    """An item of a plan."""
    return {"type": "image", "name": name, "image": {"ref": ref}, **more}


def model(name: str, repo: str, **more: Any) -> Item:
    """An item of a plan."""
    return {"type": "model", "name": name, "model": {"repoId": repo}, **more}


def mirror(name: str, url: str) -> Item:
    """An item of a plan."""
    return {"type": "gitRepo", "name": name, "gitRepo": {"url": url, "branch": "main"}}


def only(node: str) -> Item:
    """The part of an item that chooses a node."""
    return {"scope": "nodeSelector", "nodeSelector": {"kubernetes.io/hostname": node}}


@contextmanager
def to_oneself(kubectl: Kubectl, shared: Shared) -> Iterator[None]:
    """The one CachePlan of a cluster, for one process at a time; none in the end."""
    with shared.held("cache-plan"):
        try:
            yield
        finally:
            kubectl("delete", "cacheplan", "default", "--ignore-not-found")


@contextmanager
def planned(kubectl: Kubectl, nodes: Sequence[str], items: Sequence[Item]) -> Iterator[None]:
    """A CachePlan whose items all nodes have ready; none in the end."""
    kubectl.api.apply({**PLAN, "spec": {"items": list(items)}})
    try:
        for node in nodes:
            wanted = {(each["type"], each["name"]) for each in items}

            def there(node: str = node, wanted: set[tuple[str, str]] = wanted) -> bool:
                return wanted <= ready(kubectl, node)

            def why(node: str = node) -> str:
                return f"{node} has everything: {kubectl.api.get('nodecachestatus', node)}"

            wait_until(there, why, 180)
        yield
    finally:
        kubectl("delete", "cacheplan", "default", "--ignore-not-found")


def ready(kubectl: Kubectl, node: str) -> set[tuple[str, str]]:
    """The sort and the name of each item that a node has ready."""
    fields = {"image": "images", "gitRepo": "gitRepos", "model": "models"}
    return {
        (sort, name)
        for sort, field in fields.items()
        for name, line in lines(kubectl, node, field).items()
        if line.get("status") == "ready"
    }
