"""What a server's status says about idleness, and how seldom it changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from devctl_observer.kinds.activity.model import PodReport
from devctl_observer.kinds.activity.reports import Arrival
from devctl_observer.kinds.servers.idle_status import Idling, Moment, Told, idle_status
from devctl_observer.kinds.servers.idleness import Before, Judgement, Rank, judge, limits
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.status import OWN, server_status
from devctl_observer.kinds.servers.transitions import transitions

from devctl.api.conditions import find
from devctl.api.idleness import Idleness
from devctl.api.labels import STOPPED_BY, STOPPED_BY_MESSAGE
from unit.observer.activity import about, signals
from unit.observer.objects import NOW, ago, flavor, made_from, pod, server

LIFE = {"idleTimeout": "1h", "autoShutdown": True}
STEADY = 50000.0
FLAVORS = {"cpu-small": flavor()}


def rank(age: int, ordinal: int = 0, found: list[Any] | None = None, late: float = 0) -> Rank:
    report = msgspec.convert(about(ordinal, age, found), PodReport)
    return Rank(ordinal, f"node-{ordinal}", Arrival(report, STEADY - late, STEADY - late))


def told(
    *ranks: Rank,
    status: dict[str, Any] | None = None,
    life: dict[str, Any] | None = None,
    before: Before | None = None,
    later: float = 0,
    **changes: Any,
) -> Told:
    """What is said, some seconds after the reports arrived."""
    found = server(status or {}, lifecycle=LIFE if life is None else life, **changes)
    limit = limits(found.spec.lifecycle, 0)
    judgement = judge(ranks, limit, STEADY + later, before or Before())
    moment = Moment(NOW + timedelta(seconds=later), STEADY + later)
    return idle_status(found, Idling(judgement, ranks, limit, moment))


def status_of(said: Told) -> dict[str, Any]:
    """The status that results, as a server has it."""
    return {**said.fields, "conditions": [said.condition] if said.condition else []}


def test_an_active_server_says_what_was_active() -> None:
    detailed = [s | {"detail": "python"} for s in signals(9, CPU=3)]
    said = told(rank(3, found=detailed))
    assert said.fields["lastActivityAt"] == ago(seconds=3)
    assert said.fields["lastActivity"] == "CPU: python"
    assert set(said.fields["idle"]) == {"signals", "verdicts"}
    assert [s["type"] for s in said.fields["idle"]["signals"]] == [
        "Terminal",
        "Process",
        "CPU",
        "Disk",
        "Network",
    ]
    assert said.fields["idle"]["signals"][2] == {
        "type": "CPU",
        "lastActiveAt": ago(seconds=3),
        "detail": "python",
    }
    assert said.condition == {
        "type": "Idle",
        "status": "False",
        "reason": "Active",
        "message": f"last active at {ago(seconds=3)}: CPU: python;"
        " it is stopped after 1h without activity",
    }


def test_the_last_active_replica_is_named_and_odd_letters_are_not_shown() -> None:
    odd = [s | {"detail": "a\x1b[2J"} for s in signals(5)]
    said = told(rank(100), rank(5, 1, odd))
    assert said.fields["lastActivity"] == "Terminal in replica 1: a?[2J"


def test_an_active_server_is_seldom_written() -> None:
    """Reports come every minute, each about something else."""
    first = status_of(told(rank(2)))
    for seconds in (60, 120, 180, 240, 290):
        late = -seconds
        said = told(rank(1, found=signals(50, Disk=1), late=late), status=first, later=seconds)
        assert status_of(said) == first, seconds
    said = told(rank(0, late=-301), status=first, later=301)
    assert said.fields["lastActivityAt"] == ago(seconds=-301)


def test_a_quiet_server_is_written_once_and_then_exactly() -> None:
    first = status_of(told(rank(2)))
    first["lastActivityAt"] = ago(minutes=4)
    quiet = status_of(told(rank(302), status=first))
    assert quiet["lastActivityAt"] == quiet["idle"]["since"] == ago(seconds=302)
    assert quiet["idle"]["stopsAt"] == ago(seconds=302 - 3600)
    again = told(rank(361, late=-60), status=quiet, later=60)
    assert status_of(again) == quiet, "the rounding of ages changes nothing"


def test_the_ledger_has_the_last_ten_verdicts() -> None:
    status: dict[str, Any] = {}
    for turn in range(8):
        ranks = [rank(10 if turn % 2 else 3500)]
        status = status_of(told(*ranks, status=status))
        status = status_of(told(*ranks, status=status))
    verdicts = [entry["verdict"] for entry in status["idle"]["verdicts"]]
    assert verdicts == ["IdleSoon", "Active"] * 4
    status["idle"]["verdicts"] *= 2
    full = status_of(told(rank(3500), status=status))["idle"]["verdicts"]
    assert (len(full), full[-1]["verdict"], full[-1]["at"]) == (10, "IdleSoon", ago())


def test_a_warning_is_an_event_and_keeps_its_time() -> None:
    first = status_of(told(rank(2)))
    warned = status_of(told(rank(3400), status=first))
    assert warned["idle"]["warnedAt"] == ago()
    (event,) = transitions(first, warned)
    assert (event.type, event.reason) == ("Warning", "IdleSoon")
    for part in (
        f"will be stopped at {ago(seconds=-270)}",
        "`devctl hold my-dev --for 12h`",
        "files are kept",
    ):
        assert part in event.message
    again: dict[str, Any] = {"before": Before(noticed=STEADY), "status": warned, "later": 60}
    later = status_of(told(rank(3460, late=-60), **again))
    assert later == warned
    assert not list(transitions(warned, later))


def test_a_server_that_is_not_stopped_says_why() -> None:
    idle = told(rank(4000), life={"idleTimeout": 3600})
    assert idle.condition
    assert (idle.condition["status"], idle.condition["reason"]) == ("True", "Idle")
    assert "autoShutdown is not set" in idle.condition["message"]
    assert "stopsAt" not in idle.fields["idle"]
    assert [e.reason for e in transitions({}, status_of(idle)) if e.reason == "Idle"] == ["Idle"]
    assert "Idle" in OWN
    unlimited = told(rank(4000), life={})
    assert unlimited.condition is None
    assert set(unlimited.fields) == {"lastActivityAt", "lastActivity"}
    active = told(rank(4), life={"idleTimeout": 3600}).condition
    assert active
    assert active["message"].endswith("it counts as idle after 3600 s without activity")


@pytest.mark.parametrize(
    ("ranks", "reason", "message"),
    [
        ([], "NotRunning", "the server does not run"),
        ([Rank(0)], "NotRunning", "its pod does not run"),
        ([rank(1), Rank(1)], "NotRunning", "replica 1 does not run"),
        (
            [rank(1), Rank(1, "node-1")],
            "NoReport",
            "the agent of node `node-1` has not reported on replica 1 yet",
        ),
        (
            [rank(1, late=200)],
            "NoReport",
            "the agent of node `node-0` has not reported on its pod lately",
        ),
        (
            [rank(1, found=signals(1)[1:])],
            "SignalUnknown",
            "signal CPU of its pod on node `node-0` cannot be read (not reported); until this is",
        ),
    ],
)
def test_what_is_not_known_is_named(ranks: list[Rank], reason: str, message: str) -> None:
    before = status_of(told(rank(2)))
    said = told(*ranks, status=before)
    assert said.condition
    assert said.condition["reason"] == reason
    assert said.condition["message"].startswith(message)
    assert said.condition["status"] == ("False" if reason == "NotRunning" else "Unknown")
    assert said.fields["lastActivityAt"] == before["lastActivityAt"]
    assert "stopsAt" not in said.fields["idle"]


def test_an_unknown_signal_is_shown_until_it_is_known() -> None:
    unread = [s | ({"unknown": True} if s["type"] == "Disk" else {}) for s in signals(5)]
    lost = status_of(told(rank(0, found=unread), status=status_of(told(rank(2)))))
    assert [s["type"] for s in lost["idle"]["signals"] if s.get("unknown")] == ["Disk"]
    known = told(rank(60), status=lost)
    assert not any(s.get("unknown") for s in known.fields["idle"]["signals"])


def test_without_any_agent_an_administrator_is_asked() -> None:
    found = server(lifecycle=LIFE)
    limit = limits(found.spec.lifecycle, 0)
    nothing = Idling(Judgement(Idleness.NOT_MEASURED), [], limit, Moment(NOW, STEADY))
    said = idle_status(found, nothing).condition
    assert said
    assert (said["status"], said["reason"]) == ("Unknown", "NotMeasured")
    assert "an administrator must install the node agent" in said["message"]


def test_a_new_process_says_what_the_last_one_said() -> None:
    before = status_of(told(rank(3400)))
    awaited = Rank(0, "node-0", Arrival(rank(5).arrival.report, None, STEADY))
    assert status_of(told(awaited, status=before)) == before
    nothing = told(awaited)
    assert nothing.condition
    assert (nothing.condition["status"], nothing.condition["reason"]) == ("Unknown", "NoReport")


def stopped(*pods: Any, status: dict[str, Any], **notes: str) -> dict[str, Any]:
    """The status of a server that was stopped."""
    why = {STOPPED_BY: "IdleStopped", STOPPED_BY_MESSAGE: "stopped at noon after 1h"} | notes
    found = server(status, {"annotations": why}, stopped=True, lifecycle=LIFE)
    limit = limits(found.spec.lifecycle, 0)
    idle = Idling(judge([], limit, STEADY), [], limit, Moment(NOW, STEADY))
    seen = Observed(found, made=True, flavors=FLAVORS, annotations=made_from(), pods=pods)
    return server_status(seen, NOW, idle_status(found, idle))


def test_a_stopped_server_says_why_until_it_starts_again() -> None:
    before = status_of(told(rank(3600))) | {"phase": "Running"}
    going = stopped(pod(ready=True), status=before)
    ready = find(going, "Ready")
    assert (going["phase"], ready["reason"]) == ("Stopping", "IdleStopped")
    assert ready["message"] == (
        "stopped at noon after 1h; its files are kept; start it with `devctl start my-dev`"
    )
    assert [event.reason for event in transitions(before, going)] == ["IdleStopped"]
    gone = stopped(status=going)
    assert (gone["phase"], find(gone, "Ready")["reason"]) == ("Stopped", "IdleStopped")
    assert not list(transitions(going, gone))
    assert [e["verdict"] for e in gone["idle"]["verdicts"]] == ["IdleSoon", "IdleStopped"]
    assert set(gone["idle"]) == {"verdicts"}
    # A user who stops it later is not told that it was idle.
    theirs = stopped(status=gone, **{STOPPED_BY: ""})
    assert find(theirs, "Ready")["reason"] == "Stopped"
