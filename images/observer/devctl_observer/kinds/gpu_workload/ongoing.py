"""The state of an attempt that has not ended, from the states of its pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain, repeat
from typing import NamedTuple

from devctl.api.gpu_workload import Phase
from devctl.api.messages import listed
from devctl_observer.kinds.gpu_workload.endings import UNCOUNTED, End

_PHASES = (Phase.SCHEDULING, Phase.SCHEDULED, Phase.RUNNING)
RUNNING = "Running"
"""The reason while nothing is wrong."""


class Ongoing(NamedTuple):
    """The state of an attempt that has not ended, or of one of its pods."""

    phase: Phase
    reason: str
    message: str
    node: str = ""
    """The node of its pod, of several that of rank 0; empty if it has none."""
    started: datetime | None = None
    until: datetime | None = None
    """When the attempt ends if nothing changes by then."""
    nodes: Sequence[str] = ()
    """The nodes of several pods, by rank; empty for a pod that has none."""


def together(ranks: Mapping[int, Ongoing | End]) -> Ongoing | End:
    """The state of an attempt of several pods: it runs once all of them do, and ends with one.

    Args:
        ranks: The state of each pod, by rank.
    """
    ends = [(rank, found) for rank, found in ranks.items() if isinstance(found, End)]
    if ends:
        rank, end = ends[0]
        return end.of_rank(rank)
    going = {rank: found for rank, found in ranks.items() if isinstance(found, Ongoing)}
    pods = list(going.values())
    phase = min((pod.phase for pod in pods), key=_PHASES.index)
    times = [pod.started for pod in pods if pod.started]
    return Ongoing(
        phase,
        *_why(phase, going),
        node=pods[0].node,
        started=min(times, default=None) if phase is Phase.RUNNING else None,
        until=min((pod.until for pod in pods if pod.until), default=None),
        nodes=[pod.node for pod in pods],
    )


def by_rank(nodes: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """The nodes of pods; for those that have none yet, the chosen ones that are left.

    >>> by_rank(["b", "", ""], ["a", "b"])
    ['b', 'a', '']
    """
    left = list(chosen)
    for node in nodes:
        if node in left:
            left.remove(node)
    rest = chain(left, repeat(""))
    return [node or next(rest) for node in nodes]


def _why(phase: Phase, ranks: Mapping[int, Ongoing]) -> tuple[str, str]:
    """The reason and message: those of the pod that all wait for, or that is in trouble."""
    marked = [rank for rank, pod in ranks.items() if pod.reason in UNCOUNTED]
    behind = [rank for rank, pod in ranks.items() if pod.phase is phase and pod.reason != RUNNING]
    count = len(ranks)
    if not marked and not behind:
        nodes = listed([f"`{node}`" for node in dict.fromkeys(pod.node for pod in ranks.values())])
        return RUNNING, f"its program is running in {count} pods, on {nodes}"
    rank = [*marked, *behind][0]
    reason, message = ranks[rank].reason, f"rank {rank}: {ranks[rank].message}"
    if marked or phase is Phase.RUNNING:
        return reason, message
    placed = sum(bool(pod.node) for pod in ranks.values())
    running = sum(pod.phase is Phase.RUNNING for pod in ranks.values())
    some, verb = (placed, "have a node") if placed < count else (running, "run")
    return reason, f"{some} of {count} pods {verb}; {message}"
