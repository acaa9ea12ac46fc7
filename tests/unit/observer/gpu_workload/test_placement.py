"""Which node a workload gets, by each strategy."""

from __future__ import annotations

import doctest
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer.kinds.gpu_workload import backoff, registry, strategies
from devctl_observer.kinds.gpu_workload.backoff import pause
from devctl_observer.kinds.gpu_workload.placement import Choice, Place, choose
from devctl_observer.kinds.gpu_workload.prices import gpu_prices
from devctl_observer.kinds.gpu_workload.strategies import BUILT_IN, Candidate, Demand
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.gpu_workload import CHEAP, TOLERATIONS
from devctl.api.placing import Needs, NodeFacts, Taint
from devctl.api.quantities import GPU
from unit.observer.objects import flavor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devctl_observer.kinds.flavors.model import Flavor

DEMAND = Demand(2, "llama2", "u\n0\n0")


def needs(gpus: int = 2, **more: str) -> Needs:
    requests = {GPU: Decimal(gpus)} | {name: Decimal(value) for name, value in more.items()}
    return Needs(requests, {}, TOLERATIONS)


def node(name: str, gpus: str | None = "8", **changes: Any) -> NodeFacts:
    room = {"cpu": "8", "pods": "110"} | ({GPU: gpus} if gpus else {})
    facts: dict[str, Any] = {"ready": True, "cordoned": False, "labels": (), "taints": ()} | changes
    return NodeFacts(name=name, allocatable=tuple(sorted(room.items())), **facts)


def place(name: str, used: int = 0, promised: int = 0, lower: int = 0, **facts: Any) -> Place:
    return Place(
        node(name, **facts),
        {GPU: Decimal(used)},
        {GPU: Decimal(lower)},
        {GPU: Decimal(promised)},
    )


def chosen(name: str, *places: Place) -> str:
    return choose(BUILT_IN[name], DEMAND, needs(), places).node


def test_least_loaded_counts_gpus_in_use_and_promised() -> None:
    # By what nodes have alone, the first one would win.
    assert chosen("leastLoaded", place("a", used=6), place("b", gpus="4")) == "b"
    assert chosen("leastLoaded", place("a", promised=5), place("b", gpus="4")) == "b"


@pytest.mark.parametrize("amount", ["10", "1e1", "10000m"])
def test_an_amount_is_a_number_and_not_the_length_of_a_text(amount: str) -> None:
    assert chosen("leastLoaded", place("a", gpus="9"), place("b", gpus=amount)) == "b"


def test_packed_fills_nodes_up() -> None:
    assert chosen("packed", place("a"), place("b", used=5), place("c", used=7)) == "b"


def test_cost_optimized_takes_the_least_loaded_of_the_cheap_nodes_else_of_all() -> None:
    cheap: Mapping[str, Any] = {"labels": ((CHEAP, "true"),)}
    assert chosen("costOptimized", place("a"), place("b", used=6, **cheap)) == "b"
    assert chosen("costOptimized", place("a"), place("b", used=7, **cheap)) == "a"
    assert chosen("costOptimized", place("a", used=1), place("b")) == "b"
    assert chosen("costOptimized", place("a"), place("b", labels=((CHEAP, "false"),))) == "a"


def test_cost_optimized_prefers_a_lower_price() -> None:
    nodes = [Candidate("a", 8, 8, {}, 3.0), Candidate("b", 1, 8, {}, 2.5), Candidate("c", 8, 8, {})]
    scores = {each.node: each.score for each in BUILT_IN["costOptimized"](nodes, DEMAND)}
    assert scores["b"] > scores["a"] > scores["c"]


def gpu_flavor(name: str, price: dict[str, Any] | None, pool: str = "", gpus: int = 2) -> Flavor:
    resources = {"requests": {"cpu": 1}, "limits": {GPU: gpus} if gpus else {}}
    spec: dict[str, Any] = {"resources": resources}
    spec |= {"nodeSelector": {"pool": pool}} if pool else {}
    spec |= {"price": price} if price else {}
    return flavor(name, **spec)


def test_a_price_is_the_lowest_of_the_flavors_that_select_the_node() -> None:
    nodes = [node("a", labels=(("pool", "a"),)), node("b", labels=(("pool", "b"),)), node("c")]
    cheap = gpu_flavor("cheap", {"perHour": 1, "perGPUHour": "0.25"}, "a")
    dear = gpu_flavor("dear", {"perGPUHour": 3})
    without = gpu_flavor("cpu", {"perHour": "0.01"}, gpus=0)
    flavors = [cheap, dear, without, gpu_flavor("free", None)]
    assert gpu_prices(nodes, flavors) == {"a": 0.75, "b": 3, "c": 3}
    assert gpu_prices(nodes, []) == {}
    other = gpu_flavor("other", {"perGPUHour": 1, "currency": "EUR"})
    assert gpu_prices(nodes, [*flavors, other]) == {}


def test_cache_aware_prefers_nodes_with_the_image_then_free_gpus() -> None:
    image = "docker.io/library/train:1"
    demand = Demand(2, "m", "", image)
    there: Mapping[str, Any] = {"images": frozenset({image, "docker.io/library/other:1"})}

    def choice(*places: Place) -> Choice:
        return choose(BUILT_IN["cacheAware"], demand, needs(), places)

    found = choice(place("a"), place("b", used=6, **there))
    assert found.node == "b"
    assert [entry["reason"] for entry in found.considered] == [
        "its image is there, 2 of 8 GPUs are free",
        "its image is not listed, 8 of 8 GPUs are free",
    ]
    assert choice(place("a", used=1, **there), place("b", **there)).node == "b"
    assert choice(place("a", used=1), place("b", used=7, **there)).node == "a"


def test_random_is_the_same_for_an_attempt_and_differs_between_them() -> None:
    nodes = [place(name) for name in "abcdefgh"]

    def draw(seed: str) -> str:
        return choose(BUILT_IN["random"], Demand(2, "m", seed), needs(), nodes).node

    assert draw("1") == draw("1")
    assert len({draw(str(seed)) for seed in range(100)}) == len(nodes)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"ready": False}, "not ready"),
        ({"cordoned": True}, "cordoned"),
        ({"taints": (Taint("team", "a", "NoSchedule"),)}, "taint team=a:NoSchedule"),
        ({"gpus": "1"}, "nvidia.com/gpu 2 wanted, 1 there"),
        ({"used": 7}, "1 of 8 GPUs free"),
    ],
)
def test_only_a_suitable_node_is_chosen(facts: Any, why: str) -> None:
    bad, good = place("a", **facts), place("b", used=6)
    choice = choose(BUILT_IN["leastLoaded"], DEMAND, needs(), [bad, good])
    assert choice.node == "b"
    assert {"node": "a", "reason": why} in choice.considered
    choice = choose(BUILT_IN["leastLoaded"], DEMAND, needs(), [bad])
    assert (choice.node, choice.contested) == ("", False)
    assert choice.problem == f"no node has 2 free GPUs for it (`a`: {why})"


def test_a_taint_for_gpus_is_tolerated() -> None:
    assert chosen("leastLoaded", place("a", taints=(Taint(GPU, "", "NoSchedule"),))) == "a"


def test_a_node_must_have_the_rest_as_well() -> None:
    full = Place(node("a"), {GPU: Decimal(0), "cpu": Decimal("7.5")})
    choice = choose(BUILT_IN["leastLoaded"], DEMAND, needs(cpu="1"), [full, place("b", used=6)])
    assert choice.node == "b"
    assert {"node": "a", "reason": "0.5 of 8 cpu free"} in choice.considered


def test_nodes_without_gpus_are_only_counted() -> None:
    nodes = [place("a", gpus=None), place("b", used=8), place("c", gpus=None)]
    told = choose(BUILT_IN["packed"], DEMAND, needs(1), nodes).problem
    assert told == "no node has a free GPU for it (`b`: 0 of 8 GPUs free; 2 without GPUs)"
    told = choose(BUILT_IN["packed"], DEMAND, needs(1), nodes[:1]).problem
    assert told.startswith("no node has nvidia.com/gpu")


def test_what_is_promised_to_others_is_waited_for() -> None:
    choice = choose(BUILT_IN["leastLoaded"], DEMAND, needs(), [place("a", used=4, promised=4)])
    assert (choice.node, choice.problem, choice.contested) == ("", "", True)


def test_pods_of_a_lower_priority_make_room_only_if_nothing_else_does() -> None:
    full = place("a", used=8, lower=2)
    assert chosen("leastLoaded", full, place("b", used=6)) == "b"
    choice = choose(BUILT_IN["leastLoaded"], DEMAND, needs(), [full, place("b", used=8, lower=1)])
    assert choice.node == "a"
    assert "lower priority" in choice.considered[0]["reason"]


def test_the_considered_nodes_are_few_and_the_best_is_first() -> None:
    nodes = [place(f"n{number:02}", used=number % 7) for number in range(40)]
    choice = choose(BUILT_IN["leastLoaded"], DEMAND, needs(), nodes)
    assert len(choice.considered) == 16
    assert choice.considered[0]["node"] == choice.node == "n00"
    scores = [entry["score"] for entry in choice.considered]
    assert scores == sorted(scores, reverse=True)


def test_a_strategy_cannot_choose_what_is_not_suitable() -> None:
    def bad(*_: Any) -> list[strategies.Scored]:
        return [strategies.Scored("a", 9, ""), strategies.Scored("gone", 10, "")]

    nodes = [place("a", used=8), place("b")]
    choice = choose(bad, DEMAND, needs(), nodes)
    assert not choice.node
    assert "accepts none" in choice.problem


@given(st.lists(st.integers(1, 4), max_size=60), st.integers(1, 5))
def test_one_after_the_other_they_never_exceed_a_node_and_spread_evenly(
    sizes: list[int], count: int
) -> None:
    taken = {f"n{number}": 0 for number in range(count)}
    for gpus in sizes:
        nodes = [place(name, promised=used) for name, used in taken.items()]
        choice = choose(BUILT_IN["leastLoaded"], DEMAND, needs(gpus), nodes)
        if choice.node:
            taken[choice.node] += gpus
        assert max(taken.values()) <= 8
    if set(sizes) <= {1}:
        assert max(taken.values()) - min(taken.values()) <= 1


@given(st.integers(1, 300), st.integers(0, 100), st.text(max_size=5))
def test_a_pause_doubles_up_to_five_minutes_with_a_tenth_of_jitter(
    base: int, retries: int, uid: str
) -> None:
    plain = min(base * 2**retries, 300)
    seconds = pause(base, retries, uid).total_seconds()
    assert plain <= seconds <= plain * 1.1 + 1e-3
    assert pause(base, retries, uid) == pause(base, retries, uid)


def test_the_jitter_differs() -> None:
    assert len({pause(30, 0, str(uid)) for uid in range(50)}) == 50


class Entry:
    """An entry point of an installed package."""

    value = "package:function"

    def __init__(self, name: str, loaded: Any) -> None:
        self.name, self._loaded = name, loaded

    def load(self) -> Any:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


def test_an_installed_package_adds_a_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    def mine(*_: Any) -> list[strategies.Scored]:
        return []

    added = [Entry("mine", mine), Entry("packed", mine), Entry("broken", ImportError("x"))]
    asked = []

    def entry_points(group: str) -> list[Entry]:
        asked.append(group)
        return added

    monkeypatch.setattr(registry, "entry_points", entry_points)
    found = registry.installed()
    assert asked == ["devctl.scheduling_strategies"]
    assert found["mine"] is mine
    assert found["packed"] is strategies.packed
    assert set(found) == {*BUILT_IN, "mine"}


def test_examples_in_docstrings() -> None:
    for module in (strategies, backoff):
        assert doctest.testmod(module).failed == 0
