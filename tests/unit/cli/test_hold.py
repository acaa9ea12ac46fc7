"""Idle servers: how long they are kept, and how people are told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from unit.client.objects import SERVERS, ago, server

if TYPE_CHECKING:
    from collections.abc import Callable

    from unit.cli.conftest import Devctl, Tty
    from unit.client.fake_cluster import FakeApi


def idle(name: str = "lab", *, warned: bool = True, **lifecycle: Any) -> dict[str, Any]:
    """A server that is idle and stops in ten minutes."""
    found = server(name)
    found["spec"]["lifecycle"] = {"idleTimeout": "1h", "autoShutdown": True, **lifecycle}
    found["status"] |= {
        "lastActivityAt": ago(minutes=50),
        "lastActivity": "Process: python",
        "idle": {"stopsAt": ago(minutes=-10), **({"warnedAt": ago(minutes=1)} if warned else {})},
    }
    return found


def described(devctl: Devctl) -> str:
    done = devctl("describe", "lab")
    assert done.code == 0
    return done.stdout


def test_a_server_is_held_and_released(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, server("lab"))
    done = devctl("hold", "lab", "--for", "12h")
    assert (done.code, done.stdout) == (0, "devserver/lab held\n")
    until = api.get(SERVERS, "lab")["spec"]["lifecycle"]["holdUntil"]
    ahead = datetime.fromisoformat(until) - datetime.now(UTC)
    assert timedelta(hours=11.9) < ahead <= timedelta(hours=12)
    assert f"it is not stopped before {until[:10]} {until[11:16]} UTC" in done.stderr
    assert devctl("hold", "lab", "--off").stdout == "devserver/lab released\n"
    assert not api.get(SERVERS, "lab")["spec"]["lifecycle"].get("holdUntil")


@pytest.mark.parametrize("options", [(), ("--for", "1h", "--off")])
def test_how_long_must_be_clear(api: FakeApi, devctl: Devctl, options: tuple[str, ...]) -> None:
    api.add(SERVERS, server("lab"))
    done = devctl("hold", "lab", *options)
    assert done.code == 2
    assert "specify either --for, such as `--for 12h`, or --off" in done.stderr


def test_a_page_says_when_it_stops(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, idle())
    text = described(devctl)
    assert "limit 1h, last active 50m ago: Process: python" in text
    assert "stops in 10m" in text
    assert "`devctl hold lab --for 12h` keeps it running" in text


def test_a_page_says_that_it_is_held(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, idle(holdUntil=ago(hours=-3)))
    text = described(devctl)
    assert "held: it is not stopped before" in text
    assert "stops in" not in text


def test_a_page_says_why_nothing_is_known(api: FakeApi, devctl: Devctl) -> None:
    found = server("lab")
    found["status"]["conditions"].append(
        {"type": "Idle", "status": "Unknown", "reason": "NoReport", "message": "no report"}
    )
    api.add(SERVERS, found)
    assert "Idle:         no report" in described(devctl)


def test_a_person_is_warned_once_a_minute(
    api: FakeApi, devctl: Devctl, tty: Callable[[], Tty], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    api.add(SERVERS, idle(), idle("calm", warned=False), idle("kept", holdUntil=ago(hours=-3)))

    def said() -> list[str]:
        screen = tty()
        assert devctl("flavors").code == 0
        lines = screen.written().decode().splitlines()
        return [line for line in lines if line.startswith("warning")]

    (line,) = said()
    assert line.startswith("warning: `lab` is idle and stops in 10m")
    assert "`devctl hold lab --for 12h` keeps it running" in line
    assert said() == []


def test_a_person_is_warned_of_the_end_of_a_run(
    api: FakeApi, devctl: Devctl, tty: Callable[[], Tty], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, soon in (("lab", "True"), ("calm", "False")):
        found = server(name, runEndsAt=ago(minutes=-10))
        found["status"]["conditions"].append({"type": "RuntimeEnding", "status": soon})
        api.add(SERVERS, found)
    screen = tty()
    assert devctl("flavors").code == 0
    said = screen.written().decode()
    assert "warning: `lab` stops in 10m" in said
    assert "`devctl extend lab --max-runtime 4h` lets it run on" in said
    assert "calm" not in said


def test_programs_are_not_warned(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, idle())
    assert "warning" not in devctl("flavors").stderr
