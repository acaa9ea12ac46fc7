"""Everything that hands out GPUs by claim dies on real nodes, each in the middle of its work."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from support.claimants import EACH, Claimants
from support.processes import frozen, kill, kill_all, pids_saying, stopped
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.fault_day import Day, Standing

ASKING = 2.0
"""Seconds after which a kubelet has certainly asked the plugin about a new pod's claim."""
IGNORES = [{"operator": "Exists"}]
"""Tolerations of a pod that may go to a node that is dead."""
KEPT = ("kept", "on-killed-kubelet", "on-killed-plugin")


@dataclass(frozen=True)
class Fault:
    """What came of it.

    Attributes:
        nodes: The two nodes; on the last one, kubelet and containerd were away for a while.
        calm: The containers of a pod that nothing concerned, before and after.
        left: What was left of records, CDI files and reservations when all pods were gone.
        stands: How a server beside them stood, before and after.
    """

    nodes: tuple[Claimants, Claimants]
    calm: tuple[str, str]
    left: list[tuple[int, str, list[str]]]
    stands: tuple[Standing, Standing]


@pytest.fixture(scope="module")
def fault(day: Day) -> Iterator[Fault]:
    image = str(day.server.spec["image"])
    nodes = first, last = Claimants(day, 0, image), Claimants(day, 1, image)
    await_offered(*nodes)
    stood = day.stand()
    first.start(KEPT[0], 1)
    last.start("dies", EACH)
    first.await_running(KEPT[0])
    last.await_running("dies")
    before = first.container(KEPT[0])

    kill_kubelet_while_it_prepares(first, KEPT[1])
    replace_on_dead_node(last, "dies", "follows")
    kill_plugin_while_it_prepares(first, KEPT[2])
    first.await_running(*KEPT)
    last.await_running("follows")

    for node in nodes:
        kill_all(redis_of(node))
    held = ([day.jobs] * len(KEPT), [day.jobs] * EACH)
    wait_until(
        lambda: (first.users(), last.users()) == held,
        lambda: f"they are reserved again: {first.users()} {last.users()}",
    )
    calm = (before, first.container(KEPT[0]))
    first.remove(*KEPT)
    last.remove("follows")
    await_offered(*nodes)
    left = [(each.recorded(), each.described(), each.users()) for each in nodes]
    day.await_well()
    yield Fault(nodes, calm, left, (stood, day.stand()))
    for each in nodes:
        each.clean()


def plugin_of(node: Claimants) -> set[int]:
    """The plugin's process on a node."""
    return pids_saying("devctl_dra_plugin", "python", node.group)


def redis_of(node: Claimants) -> set[int]:
    """The node's Redis."""
    return pids_saying("redis-server", "redis", node.group)


def await_offered(*nodes: Claimants) -> None:
    """Wait until anybody can have all GPUs of nodes."""
    wait_until(
        lambda: all(each.offered() == EACH for each in nodes),
        lambda: f"they are offered: {[each.offered() for each in nodes]}",
        120,
    )


def kill_kubelet_while_it_prepares(node: Claimants, pod: str) -> None:
    """The plugin has its question, and answers when nobody listens any more."""
    offer = node.offer()
    with frozen(plugin_of(node)):
        node.start(pod, 1)
        node.await_allocated(pod)
        time.sleep(ASKING)
        kill(node.group, "kubelet")
    # The new one deletes the node's slice, and finds the plugin.
    wait_until(lambda: node.offer() not in {"", offer}, "the plugin offers its GPUs again", 120)


def kill_plugin_while_it_prepares(node: Claimants, pod: str) -> None:
    """It waits for Redis, which has its question."""
    with frozen(redis_of(node)):
        node.start(pod, 1)
        node.await_allocated(pod)
        time.sleep(ASKING)
        plugins = plugin_of(node)
        kill_all(plugins)
    wait_until(lambda: bool(plugin_of(node) - plugins), "another plugin", 120)


def replace_on_dead_node(node: Claimants, pod: str, other: str) -> None:
    """A dead node's pod is deleted by force, and its GPUs go to another one while it still runs."""
    with stopped(node.day.cluster, node.node, "kubelet", "containerd"):
        node.remove_by_force(pod)
        node.start(other, EACH, tolerations=IGNORES)
        node.await_allocated(other)


def test_no_gpu_is_given_to_two_at_once(fault: Fault) -> None:
    """The containers have locked what they were given, and found nothing locked."""
    assert [each.twice() for each in fault.nodes] == ["", ""]
    assert fault.nodes[1].locked() == [str(index) for index in range(EACH)]
    assert len(fault.nodes[0].locked()) == len(KEPT)


def test_a_pod_that_has_its_gpu_goes_on(fault: Fault) -> None:
    before, after = fault.calm
    assert before
    assert after == before


def test_nothing_is_left_when_they_are_gone(fault: Fault) -> None:
    assert fault.left == [(0, "", [])] * 2


def test_a_server_beside_them_is_left_alone(fault: Fault) -> None:
    before, after = fault.stands
    assert after == before
