"""Which nodes a job fits on, in which order, and what is in its way elsewhere."""

from __future__ import annotations

import doctest
from datetime import timedelta
from typing import Any

import pytest
from devctl_gateway.cluster.node_facts import facts, small_node
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

from devctl.api.gpu_worker_node import Prices, State

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
    assert (offer.memory, offer.slots, offer.jobs) == (31 * 1024, 1, 1)
    assert (offer.prices, offer.closed) == (Prices(5, 0, 0), "")
    (gone,) = offers([ROW], {}, {}, now=AT, every=EVERY)
    assert (gone.state, gone.gpus, gone.cores) == (State.INACTIVE, 0, 0)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"unschedulable": True}, "cordoned"),
        ({"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}, "taint a=b:NoSchedule"),
        ({"taints": [{"key": "a", "effect": "NoExecute"}]}, "taint a:NoExecute"),
        ({"taints": [{"key": "a", "effect": "PreferNoSchedule"}]}, ""),
        # What only takes pods with GPUs takes jobs.
        ({"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}, ""),
    ],
)
def test_a_node_that_the_scheduler_passes_over_is_not_offered(
    spec: dict[str, Any], says: str
) -> None:
    (found,) = offers([ROW], {"one": {**NODE, "spec": spec}}, {}, now=AT, every=EVERY)
    assert found.closed == says
    assert obstacle(Wanted(), found) == (f"it is closed to new jobs ({says})" if says else "")
    assert fitting(Wanted(), [found]) == ([] if says else [found])


def test_the_gateway_keeps_of_a_node_what_it_is_placed_by() -> None:
    spec = {"unschedulable": True, "taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDR": "x"}
    kept = small_node({**NODE, "metadata": {"name": "one"}, "spec": spec})
    assert facts(kept).cordoned
    assert facts(kept).taints == (("a", "", "NoSchedule"),)
    assert "podCIDR" not in kept["spec"]


def offer(node: str = "a", state: State = State.ACTIVE, **has: Any) -> Offer:
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
    first = ordered(nodes, strategy, Wanted(1), seed)
    assert sorted(first, key=repr) == sorted(nodes, key=repr)
    assert [each.node_id for each in ordered(nodes[::-1], strategy, Wanted(1), seed)] == [
        each.node_id for each in first
    ]


def test_strategies_prefer_what_they_say() -> None:
    empty, full = offer("empty", gpus=1), offer("full", gpus=1, jobs=1)
    assert ordered([full, empty], "leastLoaded", Wanted(1))[0] is empty
    assert ordered([empty, full], "packed", Wanted(1))[0] is full
    # Of as many jobs, by what is free.
    large, small = offer("large", gpus=8), offer("small", gpus=1)
    assert ordered([small, large], "leastLoaded", Wanted(1))[0] is large
    assert ordered([large, small], "packed", Wanted(1))[0] is small
    cheap, dear = offer("z", prices=Prices(1, 2)), offer("a", prices=Prices(2, 1))
    assert ordered([dear, cheap], "costOptimized", Wanted())[0] is cheap
    assert ordered([dear, cheap], "costOptimized", Wanted(2, cores=1))[0] is cheap
    assert ordered([cheap, dear], "costOptimized", Wanted(1, cores=2))[0] is dear


def test_the_cluster_is_told_of_each_node_with_its_state_and_prices() -> None:
    (found,) = worker_nodes([ROW], {"one": NODE}, now=AT, every=EVERY).values()
    assert found["metadata"]["name"] == "gpu-1"
    assert found["spec"]["state"] == "active"
    assert found["spec"]["gpuMemoryMegabytes"] == 24576
    assert found["spec"]["prices"]["perGPUHour"] == "0.000005"
    (silent,) = worker_nodes([ROW], {}, now=AT, every=EVERY).values()
    assert silent["spec"]["state"] == "inactive"
