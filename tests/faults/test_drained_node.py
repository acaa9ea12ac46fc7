"""A node is drained, and operator and observer are ended in order: others go on where they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from support.deployment import SYSTEM
from support.fault_day import RANKS
from support.processes import leader
from support.servers import wait_until

if TYPE_CHECKING:
    from support.fault_day import Day, Standing

PARTS = ("operator", "observer")
WHY = "no node that its home can be reached from"


@dataclass(frozen=True)
class Fault:
    """What came of it.

    Attributes:
        here: The rank on the drained node.
        node: That node.
        before: How it stood.
        leaders: Who operator and observer were before.
        waiting: What the server's status said of the rank while its node was away.
        elsewhere: Where the rank's pod was then.
        other: The other rank's pod then.
        after: How it stood when the node was back.
    """

    here: int
    node: str
    before: Standing
    leaders: dict[str, str]
    waiting: dict[str, Any]
    elsewhere: str
    other: dict[str, Any]
    after: Standing


@pytest.fixture(scope="module")
def fault(day: Day) -> Fault:
    day.await_well()
    kubectl, node = day.kubectl, day.cluster.nodes[1].name
    here = next(rank for rank in RANKS if day.node_of(rank) == node)
    before, leaders = day.stand(), {part: leader(kubectl, part) for part in PARTS}

    def replica() -> dict[str, Any]:
        found: dict[str, Any] = day.server.status["replicaStatuses"][here]
        return found

    ours = ("-n", SYSTEM, "-l", "app.kubernetes.io/name=devctl")
    try:
        kubectl("cordon", node)
        kubectl("delete", "pod", *ours, "--wait=false")
        kubectl("drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=120s")
        wait_until(lambda: WHY in replica()["message"], lambda: str(replica()))
        waiting, elsewhere, other = replica(), day.node_of(here), day.pod(1 - here)
    finally:
        kubectl("uncordon", node)
    day.await_answer()
    return Fault(here, node, before, leaders, waiting, elsewhere, other, day.stand())


def test_its_rank_waits_as_its_home_is_on_that_node(fault: Fault) -> None:
    """Elsewhere it would come up without files."""
    assert fault.waiting["phase"] == "Pending"
    assert fault.elsewhere == ""


def test_the_other_rank_is_left_alone(fault: Fault, day: Day) -> None:
    pod = f"Pod/{day.server.name}-{1 - fault.here}"
    assert fault.other["metadata"]["uid"] == fault.before.pods[pod] == fault.after.pods[pod]
    assert len(fault.after.containers & fault.before.containers) == 1


def test_it_gets_its_rank_back(fault: Fault, day: Day) -> None:
    assert day.node_of(fault.here) == fault.node


def test_what_was_written_is_there(fault: Fault) -> None:
    assert fault.after.kept == fault.before.kept


@pytest.mark.parametrize("part", PARTS)
def test_another_operator_and_another_observer_go_on(fault: Fault, day: Day, part: str) -> None:
    assert leader(day.kubectl, part) != fault.leaders[part]
