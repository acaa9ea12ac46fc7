"""Random histories of replicas and their agents: nothing active is stopped, nothing idle is kept.

An agent here follows the protocol in devctl.api.node_activity. Its reports may be late or lost, it
may start again, the observer may start again, and wall clocks show anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

from devctl_observer.kinds.activity.reports import Reports
from devctl_observer.kinds.servers.idle_stop import IdleServers, watched
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.watching.store import Key
from hypothesis import given, settings
from hypothesis import strategies as st

from devctl.api.node_activity import MIN_REPORT_SECONDS, REPORT_SECONDS
from unit.observer.activity import Steady, about, activity
from unit.observer.objects import NOW, distributed, pod, server

KEY = Key("dev-alice", "my-dev")
TIMEOUT = 60
LENGTH = 500
RETRY = 10
_WATCHED = watched("p", server(lifecycle={"idleTimeout": TIMEOUT}))
assert _WATCHED
REPORT_AT = _WATCHED.report_at


@dataclass
class Agent:
    """The agent of a replica's node: what is true, what it writes, and what has arrived."""

    ordinal: int
    active: frozenset[int]
    """The seconds in which the replica is active."""
    starts: frozenset[int]
    delays: list[float | None]
    """Of one report after the other, again and again; None loses it."""
    written: list[tuple[float, int, int, Any]] = field(default_factory=list, repr=False)
    """For each report that is not lost: when it arrives, when it was written, its age, itself."""

    def __post_init__(self) -> None:
        instance, since, told, before, sequence, arrives = 0, 0, -REPORT_SECONDS, 0, 0, 0.0
        for second in range(LENGTH):
            if second in self.starts:
                instance, since, before, told = instance + 1, second, 0, second - REPORT_SECONDS
            since = second if second in self.active else since
            age = second - since
            crossed = any(before < at <= age for at in REPORT_AT)
            turned = age == 0 and before > 0
            waited = second - told
            due = waited >= REPORT_SECONDS or (turned and waited >= MIN_REPORT_SECONDS)
            if not (crossed or due):
                # What could not be reported yet is still news.
                before = before if turned else age
                continue
            sequence, told, before = sequence + 1, second, age
            delay = self.delays[sequence % len(self.delays)]
            if delay is None:
                told = second - REPORT_SECONDS + RETRY
                continue
            arrives = max(arrives, second + delay)
            body = activity(
                about(self.ordinal, age),
                sequence=sequence,
                instance=f"i-{instance}",
                node=f"node-{self.ordinal}",
            )
            self.written.append((arrives, second, age, body))

    def arrived(self, now: float) -> tuple[float, int, int, Any] | None:
        """The last report that has arrived."""
        return next((entry for entry in reversed(self.written) if entry[0] <= now), None)

    @property
    def last(self) -> int:
        """The last second of activity."""
        return max(self.active, default=0)


def stop_of(agents: list[Agent], restarts: frozenset[int], steps: list[float]) -> float | None:
    """When the observer stops the server; None if it does not."""
    steady = Steady()
    pods = [pod(agent.ordinal, ready=True, node=f"node-{agent.ordinal}") for agent in agents]
    life = {"idleTimeout": TIMEOUT, "autoShutdown": True}
    spec = distributed(len(agents)) if len(agents) > 1 else {}
    seen = Observed(server(lifecycle=life, **spec), made=True, pods=pods)
    idle, known = _observer(steady, agents, 0.0)
    moments = {entry[0] for agent in agents for entry in agent.written}
    ticks = sorted(moments | {second + 0.1 for second in range(LENGTH)})
    for turn, steady.now in enumerate(ticks):
        if restarts & {int(steady.now)} and steady.now % 1:
            idle, known = _observer(steady, agents, steady.now)
        for agent in agents:
            if entry := agent.arrived(steady.now):
                known.note(f"node-{agent.ordinal}", entry[3])
        wall = NOW + timedelta(seconds=steady.now + steps[turn % len(steps)])
        if idle.judge(KEY, seen, wall).judgement.stop:
            return steady.now
    return None


def _observer(steady: Steady, agents: list[Agent], now: float) -> tuple[IdleServers, Reports]:
    """A new process, which lists what is there."""
    reports = Reports(steady)
    for agent in agents:
        entry = agent.arrived(now)
        node = f"node-{agent.ordinal}"
        reports.note(node, entry[3] if entry else activity(sequence=None, node=node))
    process = SimpleNamespace(api=None, clock=SimpleNamespace(steady=steady))
    return IdleServers(reports, cast("Any", process)), reports


SECONDS = st.integers(0, LENGTH - 1)


@st.composite
def agents(draw: st.DrawFn, *, alive: bool) -> list[Agent]:
    delays = st.sampled_from([0.0] if alive else [0.0, 0.3, 5.0, 29.5, 70.0, 140.0, None])
    until = st.integers(0, LENGTH // 2) if alive else SECONDS
    return [
        Agent(
            ordinal,
            draw(st.frozensets(until, max_size=12)),
            frozenset() if alive else draw(st.frozensets(SECONDS, max_size=3)),
            draw(st.lists(delays, min_size=1, max_size=7)),
        )
        for ordinal in range(draw(st.integers(1, 3)))
    ]


STEPS = st.lists(st.floats(-1e7, 1e7), min_size=1, max_size=5)


@settings(max_examples=150, deadline=None)
@given(agents(alive=False), st.frozensets(SECONDS, max_size=3), STEPS)
def test_no_server_is_stopped_within_its_time_after_any_activity(
    ranks: list[Agent], restarts: frozenset[int], steps: list[float]
) -> None:
    now = stop_of(ranks, restarts, steps)
    if now is None:
        return
    for agent in ranks:
        entry = agent.arrived(now)
        assert entry is not None
        _, written, age, _ = entry
        assert age >= TIMEOUT
        # Whatever happened before the last look is long ago, whether or not it was reported.
        assert all(now - second >= TIMEOUT - 0.01 for second in agent.active if second <= written)


@settings(max_examples=100, deadline=None)
@given(agents(alive=True), STEPS)
def test_an_idle_server_is_stopped_in_time(ranks: list[Agent], steps: list[float]) -> None:
    due = max(agent.last for agent in ranks) + TIMEOUT
    now = stop_of(ranks, frozenset(), steps)
    assert now is not None
    assert now <= due + REPORT_SECONDS + 1


@settings(max_examples=60, deadline=None)
@given(agents(alive=True), st.integers(0, 60), STEPS)
def test_a_new_observer_waits_for_the_next_reports(
    ranks: list[Agent], ahead: int, steps: list[float]
) -> None:
    due = max(agent.last for agent in ranks) + TIMEOUT
    restart = max(0, due - ahead)
    now = stop_of(ranks, frozenset({restart}), steps)
    assert now is not None
    assert now <= due + 2 * REPORT_SECONDS + 15
