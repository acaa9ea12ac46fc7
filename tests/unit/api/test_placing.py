"""Which nodes could hold a pod, and how many; the observer's tests have each obstacle's words."""

from __future__ import annotations

import doctest
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.api import placing
from devctl.api.placing import Needs, NodeFacts, Taint, Toleration, obstacle, room

ONE = {"cpu": Decimal(1)}


def node(**changes: Any) -> NodeFacts:
    has = {"cpu": "4", "memory": "8Gi", "pods": "110", **changes.pop("has", {})}
    facts: dict[str, Any] = {
        "name": "a",
        "ready": True,
        "cordoned": False,
        "labels": (),
        "taints": (),
        **changes,
    }
    return NodeFacts(allocatable=tuple(sorted(has.items())), **facts)


def test_its_examples_hold() -> None:
    assert doctest.testmod(placing).failed == 0


@pytest.mark.parametrize(
    ("needs", "where", "said"),
    [
        (Needs(ONE), node(), ""),
        (Needs(node_selector={"pool": "gpu"}), node(), "no label pool=gpu"),
        (Needs(), node(ready=False), "not ready"),
        (Needs(), node(cordoned=True), "cordoned"),
        (Needs(), node(taints=(Taint("k", "v", "NoSchedule"),)), "taint k=v:NoSchedule"),
        (Needs(), node(taints=(Taint("k", "", "NoExecute"),)), "taint k:NoExecute"),
        (Needs(), node(taints=(Taint("k", "", "PreferNoSchedule"),)), ""),
        (
            Needs(tolerations=[Toleration("k", "Equal", "v", "NoSchedule")]),
            *(node(taints=(Taint("k", "v", "NoSchedule"),)), ""),
        ),
        (
            Needs(tolerations=[Toleration("", "Exists", "", "")]),
            *(node(taints=(Taint("k", "v", "NoSchedule"),), cordoned=True), ""),
        ),
        (Needs({"cpu": Decimal(5)}), node(), "cpu 5 wanted, 4 there"),
        (Needs({"nvidia.com/gpu": Decimal(1)}), node(), "no nvidia.com/gpu"),
    ],
)
def test_the_first_obstacle(needs: Needs, where: NodeFacts, said: str) -> None:
    assert obstacle(needs, where) == said


@pytest.mark.parametrize(
    ("needs", "used", "count"),
    [
        (Needs(ONE), {}, 4),
        (Needs(ONE), {"cpu": Decimal("1.5")}, 2),
        (Needs(ONE), {"cpu": Decimal(9)}, 0),
        (Needs(ONE | {"memory": Decimal(3 * 1024**3)}), {}, 2),
        (Needs({"cpu": Decimal(0)}), {}, 110),
        (Needs(), {"pods": Decimal(109)}, 1),
        (Needs({"cpu": Decimal(5)}), {}, 0),
    ],
)
def test_room(needs: Needs, used: dict[str, Decimal], count: int) -> None:
    assert room(needs, node(), used) == count


def test_a_node_that_tells_no_number_of_pods() -> None:
    silent = NodeFacts("a", ready=True, cordoned=False, labels=(), taints=(), allocatable=())
    assert room(Needs(), silent) == 0


@given(st.decimals(0, 100, places=3), st.decimals(0, 100, places=3))
def test_as_many_as_there_is_room_for_fit(need: Decimal, used: Decimal) -> None:
    count = room(Needs({"cpu": need}), node(), {"cpu": used})
    assert count >= 0
    if need and 0 < count < 110:
        assert used + count * need <= 4 < used + (count + 1) * need
