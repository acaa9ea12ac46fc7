"""What the people at a server's terminals are told before it is stopped."""

from __future__ import annotations

from typing import Any

import pytest
from devctl_observer.kinds.activity.model import WatchedPod
from devctl_observer.kinds.servers.idle_stop import watched
from devctl_observer.kinds.servers.notice import notice

from devctl.api.node_activity import MAX_NOTICE
from unit.observer.objects import ago, server

LIFE = {"idleTimeout": "2h", "autoShutdown": True}
SOON: dict[str, Any] = {
    "conditions": [{"type": "Idle", "status": "False", "reason": "IdleSoon"}],
    "idle": {"since": ago(minutes=106), "warnedAt": ago(minutes=1), "stopsAt": ago(minutes=-4)},
}
OVER: dict[str, Any] = {
    "conditions": [
        {"type": "RuntimeEnding", "status": "True", "lastTransitionTime": ago(minutes=1)}
    ],
    "runEndsAt": ago(minutes=-59),
}
RUNS = {"maxRuntime": "1d"}


def test_an_idle_server_is_about_to_be_stopped() -> None:
    assert notice(server(SOON, lifecycle=LIFE)) == (
        "devctl: my-dev has been idle for 1h45m and will be stopped at 12:04 UTC (in about 5m)"
        " unless something is active by then; `devctl hold my-dev --for 12h` keeps it running"
    )


def test_a_run_is_about_to_end() -> None:
    assert notice(server(OVER, lifecycle=RUNS)) == (
        "devctl: my-dev will be stopped at 12:59 UTC (in about 1h) even if it is active, because"
        " it has run for 1d; its files are kept; `devctl extend my-dev --max-runtime 4h` lets it"
        " run on"
    )


def test_the_earlier_stop_is_told_of() -> None:
    both = {**SOON, **OVER, "conditions": [*SOON["conditions"], *OVER["conditions"]]}
    assert "12:04 UTC" in notice(server(both, lifecycle=LIFE | RUNS))
    later = both | {"runEndsAt": ago(minutes=-2)}
    assert "12:02 UTC" in notice(server(later, lifecycle=LIFE | RUNS))


@pytest.mark.parametrize(
    "status",
    [
        {},
        SOON | {"conditions": [{"type": "Idle", "status": "False", "reason": "Active"}]},
        SOON | {"idle": {}},
        SOON | {"idle": SOON["idle"] | {"warnedAt": "soon"}},
        OVER | {"conditions": [{"type": "RuntimeEnding", "status": "False"}]},
        OVER | {"runEndsAt": None},
    ],
)
def test_otherwise_nobody_is_told_anything(status: dict[str, Any]) -> None:
    assert notice(server(status, lifecycle=LIFE)) == ""
    assert notice(server(SOON, stopped=True, lifecycle=LIFE)) == ""


def test_the_longest_notice_fits() -> None:
    name = "a" * 52
    for status in (SOON, OVER):
        long = notice(server(status, {"name": name}, lifecycle={"maxRuntime": "9" * 32}))
        assert 0 < len(long) <= MAX_NOTICE


def test_agents_are_told_with_or_without_a_limit_to_measure() -> None:
    assert watched("p", server(SOON, lifecycle=LIFE)) == WatchedPod(
        "p", [6900, 7200], notice(server(SOON))
    )
    assert watched("p", server(OVER, lifecycle=RUNS)) == WatchedPod(
        "p", (), notice(server(OVER, lifecycle=RUNS))
    )
    assert watched("p", server({}, lifecycle=RUNS)) is None
