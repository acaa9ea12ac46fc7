"""Which nodes an attempt is to run on, and why not on the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple

from devctl.api.messages import listed
from devctl.api.placing import Needs, NodeFacts, obstacle, room
from devctl.api.quantities import GPU, parse_quantity
from devctl_observer.kinds.gpu_workload.strategies import Candidate, Demand, Scored, Strategy

Amounts = Mapping[str, Decimal]
_SHOWN = 16
"""Nodes in status.considered."""
_TEXT = 256


@dataclass(frozen=True)
class Place:
    """A node, and who uses it."""

    node: NodeFacts
    used: Amounts = field(default_factory=dict)
    """Requests of all pods on the node, and what claims hold there."""
    yielding: Amounts = field(default_factory=dict)
    """Of these, the requests of pods that would be replaced."""
    promised: Amounts = field(default_factory=dict)
    """Requests of workloads for which the node was chosen, and whose pods are on no node yet."""
    price: float | None = None
    """Price of a GPU per hour; None if unknown."""


class Choice(NamedTuple):
    """The result of a choice."""

    node: str = ""
    """Empty if no node is suitable."""
    considered: Sequence[Mapping[str, Any]] = ()
    """For the status: nodes with scores, best first, then those that are not suitable."""
    problem: str = ""
    """Why no node is suitable."""
    contested: bool = False
    """Whether a node would be suitable without what is promised to other workloads."""
    unknown: bool = False
    """Whether the problem is that its strategy is not installed."""
    others: Sequence[str] = ()
    """The nodes of the other pods, if there are several, in the order of their ranks."""

    @property
    def nodes(self) -> Sequence[str]:
        """The nodes of all pods; empty if no node is suitable for one of them."""
        return [self.node, *self.others] if self.node else []


def choose_all(
    strategy: Strategy, demand: Demand, needs: Needs, places: Sequence[Place], count: int
) -> Choice:
    """Choose a node for each pod of an attempt, all of which get one, or none.

    Each choice counts what the earlier ones have taken, as if their pods were there.

    Args:
        strategy: As for `choose`.
        demand: The same.
        needs: What each pod requests.
        places: All nodes.
        count: How many pods there are.
    """
    first = choose(strategy, demand, needs, places)
    if count == 1 or not first.node:
        return first
    nodes, places = [first.node], _taken(needs, places, first.node)
    # What is not suitable for one pod is not for the next: only the reasons need all nodes.
    suitable = {place.node.name for place in places if _fits(needs, place, yields=True)}
    for rank in range(1, count):
        some = [place for place in places if place.node.name in suitable]
        drawn = replace(demand, seed=f"{demand.seed}\n{rank}")
        choice = choose(strategy, drawn, needs, some)
        if not choice.node:
            lacking = choose(strategy, drawn, needs, places)
            problem = f"{rank} of {count} pods would have a node, but {lacking.problem}"
            return lacking._replace(problem=problem)
        nodes.append(choice.node)
        places = _taken(needs, places, choice.node)
    return first._replace(others=nodes[1:])


def told_chosen(nodes: Sequence[str]) -> str:
    """Which nodes were chosen, for messages; empty for none.

    >>> told_chosen(["b", "a", "b"])
    'nodes `b`, `a` were chosen'
    """
    names = [f"`{node}`" for node in dict.fromkeys(nodes)]
    if len(names) < 2:  # noqa: PLR2004
        return f"node {names[0]} was chosen" if names else ""
    return f"nodes {listed(names)} were chosen"


def _taken(needs: Needs, places: Sequence[Place], node: str) -> list[Place]:
    """The places once a pod is on one of the nodes."""
    return [
        replace(place, used=_sum(place.used, needs.requests)) if place.node.name == node else place
        for place in places
    ]


def choose(strategy: Strategy, demand: Demand, needs: Needs, places: Sequence[Place]) -> Choice:
    """Choose a node.

    Without a free one, a node is suitable if pods of a lower priority would make room.

    Args:
        strategy: Scores the suitable nodes.
        demand: What the strategy is told about the workload.
        needs: What the pod requests, and which taints it tolerates.
        places: All nodes.
    """
    suitable = [place for place in places if _fits(needs, place)]
    if not suitable and any(room(needs, place.node, place.used) for place in places):
        return Choice("", _unsuitable(needs, places)[:_SHOWN], contested=True)
    yields = not suitable
    suitable = suitable or [place for place in places if _fits(needs, place, yields=True)]
    if not suitable:
        return Choice("", _unsuitable(needs, places)[:_SHOWN], why_none(needs, places))
    ranked = _ranked(strategy, demand, suitable, yields=yields)
    names = {place.node.name for place in suitable}
    others = [place for place in places if place.node.name not in names]
    shown = [*map(_shown, ranked), *_unsuitable(needs, others)][:_SHOWN]
    if not ranked:
        return Choice("", shown, "its scheduling strategy accepts none of the suitable nodes")
    return Choice(ranked[0].node, shown)


def why_none(needs: Needs, places: Sequence[Place]) -> str:
    """What is missing, so that no node is suitable; nodes without GPUs are only counted."""
    gpus = int(needs.requests[GPU])
    wanted = "a free GPU" if gpus == 1 else f"{gpus} free GPUs"
    with_gpus = [place for place in places if GPU in dict(place.node.allocatable)]
    if not with_gpus:
        return f"no node has {GPU}: ask an administrator whether its device plugin runs"
    told = [f"`{place.node.name}`: {unsuitable(needs, place)}" for place in with_gpus]
    without = len(places) - len(with_gpus)
    more = f"; {without} without GPUs" if without else ""
    return f"no node has {wanted} for it ({listed(told, 5)}{more})"


def unsuitable(needs: Needs, place: Place) -> str:
    """Why a node is not suitable."""
    if problem := obstacle(needs, place.node):
        return problem
    has, taken = dict(place.node.allocatable), _sum(place.used, place.promised)
    for name, wanted in sorted(needs.requests.items(), key=lambda item: item[0] != GPU):
        free = parse_quantity(has.get(name, "0")) - taken.get(name, Decimal(0))
        if wanted > free:
            what = "GPUs" if name == GPU else name
            return f"{_plain(max(free, Decimal(0)))} of {has.get(name, '0')} {what} free"
    return "no more pods fit"


def _fits(needs: Needs, place: Place, *, yields: bool = False) -> bool:
    used = _sum(place.used, place.promised)
    if yields:
        used = {
            name: amount - place.yielding.get(name, Decimal(0)) for name, amount in used.items()
        }
    return room(needs, place.node, used) > 0


def _ranked(
    strategy: Strategy, demand: Demand, places: Sequence[Place], *, yields: bool
) -> list[Scored]:
    """The suitable nodes, best first; a strategy may leave some out, but not add any."""
    candidates = [_candidate(place) for place in places]
    names = {candidate.name for candidate in candidates}
    scored = [each for each in strategy(candidates, demand) if each.node in names]
    if yields:
        note = "pods of a lower priority would make room"
        scored = [Scored(each.node, each.score, f"{each.reason}; {note}") for each in scored]
    return sorted(scored, key=lambda each: (-each.score, each.node))


def _candidate(place: Place) -> Candidate:
    total = int(parse_quantity(dict(place.node.allocatable).get(GPU, "0")))
    taken = _sum(place.used, place.promised).get(GPU, Decimal(0))
    free = max(0, total - int(taken))
    labels, images = dict(place.node.labels), place.node.images
    return Candidate(place.node.name, free, total, labels, place.price, images)


def _shown(scored: Scored) -> dict[str, Any]:
    reason = scored.reason[:_TEXT]
    return {"node": scored.node, "score": int(scored.score), "reason": reason}


def _unsuitable(needs: Needs, places: Sequence[Place]) -> list[dict[str, Any]]:
    """For the status: those with GPUs first."""
    ordered = sorted(places, key=lambda p: (GPU not in dict(p.node.allocatable), p.node.name))
    return [
        {"node": place.node.name, "reason": unsuitable(needs, place)[:_TEXT]} for place in ordered
    ]


def with_gpus(amounts: Amounts, more: int) -> Amounts:
    """Amounts with more GPUs."""
    return _sum(amounts, {GPU: Decimal(more)}) if more else amounts


def _sum(one: Amounts, other: Amounts) -> dict[str, Decimal]:
    return {
        name: one.get(name, Decimal(0)) + other.get(name, Decimal(0)) for name in {**one, **other}
    }


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"
