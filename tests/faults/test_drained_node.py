"""A node is drained: its rank waits for it, whose home is there, and the other one goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from support.fault_day import RANKS
from support.servers import wait_until

if TYPE_CHECKING:
    from support.fault_day import Day, Standing

WHY = "no node that can reach its home"


@dataclass(frozen=True)
class Fault:
    """What came of it.

    Attributes:
        here: The rank on the drained node.
        node: That node.
        before: How it stood.
        waiting: What the server's status said of the rank while its node was away.
        elsewhere: Where the rank's pod was then.
        other: The other rank's pod then.
        after: How it stood when the node was back.
    """

    here: int
    node: str
    before: Standing
    waiting: dict[str, Any]
    elsewhere: str
    other: dict[str, Any]
    after: Standing


@pytest.fixture(scope="module")
def fault(day: Day) -> Fault:
    kubectl, node = day.kubectl, day.cluster.nodes[1].name
    here = next(rank for rank in RANKS if day.node_of(rank) == node)
    before = day.stand()

    def replica() -> dict[str, Any]:
        found: dict[str, Any] = day.server.status["replicaStatuses"][here]
        return found

    try:
        kubectl("drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=120s")
        wait_until(lambda: WHY in replica().get("message", ""), lambda: str(replica()))
        waiting, elsewhere, other = replica(), day.node_of(here), day.pod(1 - here)
    finally:
        kubectl("uncordon", node)
    day.await_answer()
    return Fault(here, node, before, waiting, elsewhere, other, day.stand())


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
