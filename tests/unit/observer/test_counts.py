"""How many pods of a flavor fit: what pods request, and what that leaves."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from devctl_observer.kinds.flavors.placed_pods import Asked, NodeUse, PlacedPod, asked
from devctl_observer.kinds.flavors.status import counts
from devctl_observer.watching.kept import node_facts
from hypothesis import given
from hypothesis import strategies as st

from unit.observer.objects import asks, flavor, node, placed

if TYPE_CHECKING:
    from collections.abc import Iterable

HAS = {"cpu": "4", "memory": "8Gi", "pods": "110"}
GPU = "nvidia.com/gpu"


def used(*pods: PlacedPod) -> NodeUse:
    use = NodeUse()
    for pod in pods:
        use.change(None, asked(pod))
    return use


def test_what_the_scheduler_counts_for_a_pod() -> None:
    pod = placed(
        containers=[asks(cpu="1"), {"resources": {"limits": {"cpu": "1", "memory": "1"}}}],
        initContainers=[asks(cpu="3") | {"restartPolicy": "Always"}, asks(cpu="2", memory="5")],
        overhead={"cpu": "500m"},
    )
    assert dict(asked(pod).amounts) == {
        "pods": Decimal(1),
        "cpu": Decimal("5.5"),
        "memory": Decimal(5),
    }
    whole = placed(containers=[asks(cpu="1")], **asks(cpu="4"))
    assert dict(asked(whole).amounts)["cpu"] == 4


def test_what_is_kept_of_a_pod_is_shared_with_its_like() -> None:
    text = msgspec.json.encode(
        {
            "kind": "Pod",
            "metadata": {"name": "a", "namespace": "n", "resourceVersion": "1", "labels": {}},
            "spec": {"nodeName": "node-a", "volumes": [], "containers": [asks(cpu="1")]},
            "status": {"phase": "Running"},
        }
    )
    one, other = (asked(msgspec.json.decode(text, type=PlacedPod)) for _ in range(2))
    assert tuple(one) == ("node-a", (("cpu", Decimal(1)), ("pods", Decimal(1))), 0)
    assert one.amounts is other.amounts
    assert one.node is other.node


@pytest.mark.parametrize(
    ("spec", "nodes", "pods", "expected"),
    [
        ({}, [], [], (0, 0)),
        ({}, [node(allocatable=HAS), node("b", allocatable=HAS)], [], (8, 8)),
        ({}, [node(allocatable=HAS)], [placed(containers=[asks(cpu="2500m")])], (4, 1)),
        # Two pods do not fit on one node besides another one.
        (
            {"resources": {"requests": {"cpu": 3}}},
            [node(allocatable=HAS), node("b", allocatable=HAS)],
            [placed(containers=[asks(cpu="1001m")])],
            (2, 1),
        ),
        # Requests on a node that is gone, or has become smaller than they are.
        ({}, [node(allocatable=HAS)], [placed("gone", containers=[asks(cpu="4")])], (4, 4)),
        ({}, [node(allocatable=HAS)], [placed(containers=[asks(cpu="9")])], (4, 0)),
        ({}, [node(allocatable=HAS | {"pods": "3"})], [placed(), placed()], (3, 1)),
        ({}, [node(allocatable=HAS, cordoned=True), node("b", ready="False")], [], (0, 0)),
        ({"nodeSelector": {"pool": "gpu"}}, [node(allocatable=HAS)], [], (0, 0)),
        (
            {"resources": {"requests": {GPU: "1"}, "limits": {GPU: "1"}}},
            [node(allocatable=HAS), node("b", allocatable=HAS | {GPU: "2"})],
            [placed("b", containers=[{"resources": {"limits": {GPU: "1"}}}])],
            (2, 1),
        ),
    ],
)
def test_how_many_there_is_room_for(
    spec: Any, nodes: Any, pods: Iterable[PlacedPod], expected: tuple[int, int]
) -> None:
    assert counts(flavor(**spec), [node_facts(n) for n in nodes], used(*pods)) == expected


PODS = st.builds(
    lambda node, name, amount: (name, Asked(node, (("cpu", amount), ("pods", Decimal(1))))),
    st.sampled_from("ab"),
    st.sampled_from("pqrs"),
    st.decimals(0, 100, places=3),
)


@given(st.lists(st.tuples(PODS, st.booleans())))
def test_the_sums_are_those_of_the_pods_that_are_there(
    changes: list[tuple[tuple[str, Asked], bool]],
) -> None:
    use, there = NodeUse(), dict[str, Asked]()
    for (name, new), comes in changes:
        use.change(there.pop(name, None), new if comes else None)
        if comes:
            there[name] = new
    again = NodeUse()
    for pod in there.values():
        again.change(None, pod)
    for where in "ab":
        assert use.of(where) == again.of(where)
        assert use.of(where).get("pods", 0) == sum(pod.node == where for pod in there.values())
