"""The verdict on a server's idleness: never towards stopping one in which something was active."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from devctl_observer.kinds.activity.model import PodReport
from devctl_observer.kinds.activity.reports import Arrival
from devctl_observer.kinds.servers.idleness import Before, Judgement, Limits, Rank, judge, limits
from devctl_observer.kinds.servers.model import Lifecycle

from devctl.api.idleness import Idleness
from unit.observer.activity import about, signals

HOUR = 3600.0
NOW = 10000.0
STOPS = Limits(HOUR, stops=True)
WARNED = Before(noticed=NOW - 300)


def rank(
    age: int = 0, ago: float | None = 0.0, ordinal: int = 0, found: list[Any] | None = None
) -> Rank:
    """A replica whose last report arrived `ago` seconds before; None: before this process."""
    report = msgspec.convert(about(ordinal, age, found), PodReport)
    at = None if ago is None else NOW - ago
    return Rank(ordinal, f"node-{ordinal}", Arrival(report, at, NOW - (ago or 0.0)))


def verdict(*ranks: Rank, limit: Limits | None = STOPS, before: Before = WARNED) -> Judgement:
    return judge(ranks, limit, NOW, before)


def test_an_idle_server_is_stopped_after_its_time_and_the_warning() -> None:
    found = verdict(rank(3600))
    assert (found.verdict, found.is_idle, found.stop) == (Idleness.SOON, True, True)
    assert not verdict(rank(3599)).stop
    assert not verdict(rank(3600), before=Before()).stop, "its owner has not been warned"
    assert not verdict(rank(3600), before=Before(NOW - 200)).stop, "not for long enough"
    assert not verdict(rank(9999), limit=Limits(HOUR)).stop, "autoShutdown is not set"
    assert not verdict(rank(9999), limit=None).stop


def test_the_warning_comes_a_grace_before_the_stop() -> None:
    early, due = verdict(rank(3299), before=Before()), verdict(rank(3300), before=Before())
    assert (early.verdict, early.notice) == (Idleness.ACTIVE, False)
    assert early.again == pytest.approx(1)
    assert (due.verdict, due.notice, due.is_idle) == (Idleness.SOON, True, False)
    assert due.stops_in == pytest.approx(300)


def test_a_busy_server_is_not_idle_until_a_report_says_so() -> None:
    """Agents report once a minute, whether a server is busy or not."""
    minute = Limits(60, stops=True)
    for limit in (minute, Limits(60)):
        assert verdict(rank(0, ago=59), limit=limit, before=Before()).verdict is Idleness.ACTIVE
    assert verdict(rank(45, ago=5), limit=minute, before=Before()).verdict is Idleness.SOON
    assert verdict(rank(60), limit=Limits(60)).verdict is Idleness.IDLE


def test_a_late_warning_delays_the_stop() -> None:
    """Such as after autoShutdown was set for a server that had been idle for days."""
    found = verdict(rank(86400), before=Before())
    assert (found.verdict, found.stop, found.stops_in) == (Idleness.SOON, False, 270)
    found = verdict(rank(86400), before=Before(NOW - 271))
    assert found.stop
    assert not verdict(rank(86400, ago=2), before=Before(NOW - 271)).stop, "no look right before"


def test_one_active_replica_keeps_all() -> None:
    found = verdict(rank(9999), rank(5, ordinal=1), before=Before())
    assert (found.verdict, found.last) == (Idleness.ACTIVE, (NOW - 5, 1))
    assert verdict(rank(9999), rank(3600, ordinal=1)).stop


def test_every_replica_is_looked_at_again_after_the_whole_time() -> None:
    idle = rank(3600, ordinal=1)
    assert verdict(rank(9999, ago=0), idle).stop
    assert not verdict(rank(9999, ago=1), idle).stop


@pytest.mark.parametrize("before", [Before(), WARNED])
def test_what_is_not_known_is_active(before: Before) -> None:
    def said(*ranks: Rank) -> tuple[Any, bool, bool]:
        found = verdict(*ranks, before=before)
        return found.verdict, found.stop, found.is_idle

    idle, nothing = rank(9999), (False, False)
    assert said() == (Idleness.NOT_RUNNING, *nothing)
    assert said(idle, Rank(1)) == (Idleness.NOT_RUNNING, *nothing)
    assert said(idle, Rank(1, "node-1")) == (Idleness.NO_REPORT, *nothing)
    assert said(idle, rank(9999, ago=151, ordinal=1)) == (Idleness.NO_REPORT, *nothing)
    unread = [signals(9999)[0] | {"unknown": True}, *signals(9999)[1:]]
    assert said(rank(9999, found=unread)) == (Idleness.SIGNAL_UNKNOWN, *nothing)
    assert said(rank(9999, found=signals(9999)[1:])) == (Idleness.SIGNAL_UNKNOWN, *nothing)
    assert said(idle, rank(9999, ago=None, ordinal=1)) == (None, *nothing)


def test_one_signal_that_was_active_counts_whatever_the_pod_is_said_to_be() -> None:
    assert not verdict(rank(9999, found=signals(9999, Process=3))).stop


def test_a_report_grows_old() -> None:
    fresh = verdict(rank(10, ago=100), before=Before())
    assert fresh.verdict is Idleness.ACTIVE
    assert fresh.again == pytest.approx(51)


def test_a_hold_keeps_a_server_and_is_followed_by_a_warning() -> None:
    held = verdict(rank(3600), limit=Limits(HOUR, stops=True, held=1000), before=Before())
    assert (held.verdict, held.stop, held.stops_in) == (Idleness.HELD, False, 1000)
    assert held.again == pytest.approx(151), "until its report is old"
    soon = verdict(rank(3600), limit=Limits(HOUR, stops=True, held=300), before=Before())
    assert (soon.verdict, soon.stop) == (Idleness.SOON, False)
    for_ever = verdict(rank(3600), limit=Limits(HOUR, stops=True, held=math.inf))
    assert (for_ever.verdict, for_ever.stops_in) == (Idleness.HELD, None)


def test_a_verdict_that_is_shown_does_not_flip_by_a_second() -> None:
    """Ages are rounded down, so two reports on the same activity differ by up to a second."""
    was = Before(was_idle=True)
    assert verdict(rank(3599), limit=Limits(HOUR), before=was).is_idle
    assert not verdict(rank(3599), limit=Limits(HOUR), before=Before()).is_idle
    assert verdict(rank(3299), before=WARNED).notice
    assert not verdict(rank(3597), limit=Limits(HOUR), before=was).is_idle


def test_the_limits_of_a_lifecycle() -> None:
    assert limits(Lifecycle(), 0) is None
    assert limits(Lifecycle(idle_timeout="soon"), 0) is None
    assert limits(Lifecycle(idle_timeout=0), 0) is None
    assert limits(Lifecycle(idle_timeout="90m", auto_shutdown=True), 5) == Limits(
        5400, stops=True, held=5
    )
