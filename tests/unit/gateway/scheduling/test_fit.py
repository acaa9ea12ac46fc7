"""Which nodes a job fits on, in which order, and what is in its way elsewhere."""

from __future__ import annotations

import doctest
from datetime import timedelta
from typing import Any

import pytest
from devctl_gateway.loops.registry import worker_nodes
from devctl_gateway.scheduling import fit as module
from devctl_gateway.scheduling.fit import Offer, Wanted, fitting, obstacle, why_not
from devctl_gateway.scheduling.offers import offers
from devctl_gateway.scheduling.order import STRATEGIES, ordered
from devctl_gateway.scheduling.state import MISSED, state_of
from devctl_gateway.store.tables import NODES
from hypothesis import given
from hypothesis import strategies as st
from support.gateway_store import AT, ROWS

from devctl.api.gpu_worker_node import State

EVERY = 30
ROW: dict[str, Any] = {
    **ROWS[NODES],
    "maintenance": False,
    "heartbeat_at": AT,
    "health_status": "healthy",
    "gpu_hour": 5,
    "core_hour": None,
    "gigabyte_hour": None,
}
READY = {"type": "Ready", "status": "True"}
NODE = {
    "status": {
        "conditions": [READY],
        "allocatable": {"cpu": "15500m", "memory": "32Gi", "nvidia.com/gpu": "2"},
    }
}


def state(after: float = 0, *, there: bool = True, **changes: Any) -> State:
    now = AT + timedelta(seconds=after)
    return state_of(ROW | changes, now=now, every=EVERY, there=there)


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (state(), State.ACTIVE),
        (state(heartbeat_at=None), State.PENDING),
        (state(there=False), State.INACTIVE),
        (state(MISSED * EVERY), State.ACTIVE),
        (state(MISSED * EVERY + 1), State.INACTIVE),
        # Another replica's clock was ahead.
        (state(-5), State.ACTIVE),
        (state(health_status="unhealthy"), State.ERROR),
        (state(MISSED * EVERY + 1, health_status="unhealthy"), State.INACTIVE),
        (state(maintenance=True), State.MAINTENANCE),
        (state(10**6, maintenance=True), State.MAINTENANCE),
    ],
)
def test_the_state_of_a_node(found: State, wanted: State) -> None:
    assert found is wanted


def test_what_a_node_offers_is_what_no_pod_holds() -> None:
    taken = {"cpu": 2500, "memory": 1 << 30, "nvidia.com/gpu": 1, "imagepod.dev/job-slots": 1}
    (offer,) = offers([ROW], {"one": NODE}, {"one": taken}, now=AT, every=EVERY)
    assert (offer.gpus, offer.gpus_total, offer.cores) == (1, 2, 13)
    assert (offer.memory, offer.slots, offer.gpu_hour) == (31 * 1024, 1, 5)
    (gone,) = offers([ROW], {}, {}, now=AT, every=EVERY)
    assert (gone.state, gone.gpus, gone.cores) == (State.INACTIVE, 0, 0)


def offer(node: str = "a", state: State = State.ACTIVE, **has: int) -> Offer:
    amounts = {"gpu_memory": 24576, "gpus": 2, "cores": 8, "memory": 4096, "slots": 1} | has
    return Offer(f"gpu-{node}", node, state, "RTX", gpus_total=8, **amounts)


@pytest.mark.parametrize(
    ("wanted", "has", "says"),
    [
        (Wanted(), {"state": State.MAINTENANCE}, "it is maintenance"),
        (Wanted(1, 30000), {}, "GPU memory (MB): 30000 wanted, 24576 free"),
        (Wanted(3), {}, "GPUs: 3 wanted, 2 free"),
        (Wanted(cores=9), {}, "cores: 9 wanted, 8 free"),
        (Wanted(memory=5000), {}, "memory (MB): 5000 wanted, 4096 free"),
        (Wanted(), {"slots": 0}, "all job slots are taken"),
        (Wanted(2, 24576, 8, 4096), {}, ""),
    ],
)
def test_the_first_obstacle_is_named(wanted: Wanted, has: Any, says: str) -> None:
    assert obstacle(wanted, offer(**has)) == says


def test_why_a_job_fits_nowhere_is_told_of_all_nodes() -> None:
    nodes = [offer("a"), offer("b"), offer("c", State.INACTIVE)]
    said = why_not(Wanted(4), nodes)
    assert said == "2 of 3 nodes: GPUs: 4 wanted, 2 free; 1 of 3 nodes: it is inactive"


AMOUNT = st.integers(0, 9)
OFFERS = st.lists(
    st.builds(offer, st.sampled_from("abcdef"), st.sampled_from(State), gpus=AMOUNT, cores=AMOUNT)
)
WANTED = st.builds(Wanted, AMOUNT, st.just(0), AMOUNT, st.just(0))


@given(OFFERS, WANTED, AMOUNT)
def test_a_larger_job_never_fits_where_a_smaller_one_does_not(
    nodes: list[Offer], wanted: Wanted, more: int
) -> None:
    larger = Wanted(wanted.gpus + more, 0, wanted.cores, wanted.memory)
    small, large = fitting(wanted, nodes), fitting(larger, nodes)
    assert all(node in small for node in large)
    assert bool(why_not(larger, nodes)) or len(large) == len(nodes)


@given(OFFERS, st.sampled_from(sorted(STRATEGIES)), st.text())
def test_an_order_loses_no_node_and_is_always_the_same(
    nodes: list[Offer], strategy: str, seed: str
) -> None:
    first = ordered(nodes, strategy, seed)
    assert sorted(first, key=repr) == sorted(nodes, key=repr)
    assert [each.node_id for each in ordered(nodes[::-1], strategy, seed)] == [
        each.node_id for each in first
    ]


def test_strategies_prefer_what_they_say() -> None:
    empty, full = offer("empty", gpus=8), offer("full", gpus=1)
    assert ordered([full, empty], "leastLoaded")[0] is empty
    assert ordered([full, empty], "packed")[0] is full
    cheap, dear = offer("z", gpu_hour=1), offer("a", gpu_hour=2)
    assert ordered([dear, cheap], "costOptimized")[0] is cheap


def test_the_cluster_is_told_of_each_node_with_its_state_and_prices() -> None:
    (found,) = worker_nodes([ROW], {"one": NODE}, now=AT, every=EVERY).values()
    assert found["metadata"]["name"] == "gpu-1"
    assert found["spec"]["state"] == "active"
    assert found["spec"]["gpuMemoryMegabytes"] == 24576
    assert found["spec"]["prices"]["perGPUHour"] == "0.000005"
    (silent,) = worker_nodes([ROW], {}, now=AT, every=EVERY).values()
    assert silent["spec"]["state"] == "inactive"
