"""Kueue's own program decides about many servers; tests/bench/queues.py has more of them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from support.queue_crowd import Crowd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.plane.kueue import KueueProcess
    from support.plane.plane import Plane


@pytest.fixture
def crowd(deployed: Plane, kueue_process: KueueProcess) -> Iterator[Crowd]:  # noqa: ARG001
    made = Crowd(deployed.kubectl, f"crowd-{uuid4().hex[:6]}", teams=2, users=4, servers=24, pods=4)
    yield made
    made.remove()


def test_all_have_their_turn_in_order_and_within_the_quota(crowd: Crowd) -> None:
    crowd.admit()
    crowd.work()
    ledger = crowd.ledger
    assert ledger.exceeded == []
    assert ledger.overtaken() == []
    assert ledger.most == ledger.quotas
    assert len(ledger.turns) == crowd.servers
