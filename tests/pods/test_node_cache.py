"""The cache agents of real nodes, with their container runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.cache_plans import PLAN, lines, to_oneself
from support.servers import wait_until

from devctl.api.node_cache import AGENT, AGENT_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.sharing import Shared

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

# The kinds come with the operator.
pytestmark = pytest.mark.usefixtures("deployed")

# Of addresses that are nobody's.
AWAY = {
    "type": "gitRepo",
    "name": "away",
    "gitRepo": {"url": "https://192.0.2.1/a.git", "branch": "main"},
}


@pytest.fixture
def plan(kubectl: Kubectl, cluster: ClusterSettings, shared: Shared) -> Iterator[Any]:
    """Changes the plan."""
    assert "cache" in cluster.parts
    with to_oneself(kubectl, shared):
        yield lambda *items: kubectl.api.apply({**PLAN, "spec": {"items": list(items)}})


def test_every_node_says_which_images_it_has(
    kubectl: Kubectl, cluster: ClusterSettings, images: dict[str, Image], plan: Any
) -> None:
    plan({"type": "image", "name": "base", "image": {"ref": images["base"].reference}})
    for node in cluster.nodes:

        def base(name: str = node.name) -> dict[str, Any]:
            return lines(kubectl, name, "images").get("base", {})

        def ready(name: str = node.name) -> bool:
            return base(name).get("status") == "ready"

        wait_until(ready, f"{node.name} has it")
        assert base()["present"]
        assert base()["bytes"] > 0


def test_an_item_is_for_the_nodes_that_it_selects(
    kubectl: Kubectl, cluster: ClusterSettings, images: dict[str, Image], plan: Any
) -> None:
    first, last = cluster.nodes[0].name, cluster.nodes[-1].name
    item = {"type": "image", "name": "chosen", "image": {"ref": images["base"].reference}}
    everywhere = {**item, "name": "all"}
    chosen = {"scope": "nodeSelector", "nodeSelector": {"kubernetes.io/hostname": last}}
    plan({**item, **chosen}, everywhere)
    wait_until(lambda: "chosen" in lines(kubectl, last, "images"), "the last node has it")
    wait_until(lambda: "all" in lines(kubectl, first, "images"), "the first node follows the plan")
    assert first == last or "chosen" not in lines(kubectl, first, "images")


def test_what_cannot_be_fetched_says_why_and_holds_up_nothing(
    kubectl: Kubectl, cluster: ClusterSettings, images: dict[str, Image], plan: Any
) -> None:
    node = cluster.nodes[-1].name
    plan(AWAY, {"type": "image", "name": "base", "image": {"ref": images["base"].reference}})

    def away() -> dict[str, Any]:
        return lines(kubectl, node, "gitRepos").get("away", {})

    wait_until(lambda: away().get("status") == "failed", lambda: str(away()), 300)
    assert not away()["present"]
    assert away()["message"].startswith("git: ")

    def base() -> dict[str, Any]:
        return lines(kubectl, node, "images").get("base", {})

    # Whichever was first: on a busy machine, that a repository is away is soon found.
    wait_until(lambda: base().get("status") == "ready", lambda: str(base()))


def test_a_restarted_agent_goes_on(kubectl: Kubectl, cluster: ClusterSettings) -> None:
    which = (f"daemonset/{AGENT}", "-n", AGENT_NAMESPACE)
    before = {
        node.name: (kubectl.api.get("nodecachestatus", node.name) or {})["status"]["lastUpdate"]
        for node in cluster.nodes
    }
    kubectl("rollout", "restart", *which)
    kubectl("rollout", "status", *which, "--timeout=180s")
    for name, at in before.items():

        def newer(name: str = name, at: str = at) -> bool:
            found = kubectl.api.get("nodecachestatus", name) or {}
            return bool(found["status"]["lastUpdate"] > at)

        wait_until(newer, f"{name} reports again")
