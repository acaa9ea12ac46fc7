"""Stop, start, extend, delete, and the homes that stay: each on a server of the test's own.

A home is the same as long as its claim is: what a pod finds in it, tests/pods shows.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from support.servers import wait_until

if TYPE_CHECKING:
    from support.servers import DevServer
    from support.user_place import UserPlace

LONGER = timedelta(hours=2)


@pytest.fixture
def life(place: UserPlace) -> DevServer:
    """A server that is ready."""
    server = place.server(f"life-{uuid4().hex[:6]}")
    place.user.must("create", server.name, *place.options, "--wait")
    return server


def home(server: DevServer) -> str:
    """The name of its home."""
    return f"home-{server.name}-0"


def volume(server: DevServer) -> str:
    """What a pod of it finds its files on, by its UID."""
    (claim,) = server.get("persistentvolumeclaim", home(server))
    (pod,) = server.get("pod", f"{server.name}-0")
    claims = [each.get("persistentVolumeClaim") for each in pod["spec"]["volumes"]]
    assert {"claimName": home(server)} in claims
    return str(claim["metadata"]["uid"])


def test_a_server_keeps_its_home_over_a_stop(life: DevServer, place: UserPlace) -> None:
    before = volume(life)
    stopped = place.user("stop", life.name, "--wait")
    assert stopped.stdout.decode() == f"devserver/{life.name} stopped\n"
    assert stopped.stderr.decode().endswith(f"next: `devctl start {life.name}`\n")
    assert (life.status["phase"], life.get("pod", f"{life.name}-0")) == ("Stopped", [])
    assert "is stopped" in place.user.fails(1, "exec", life.name, "--", "true")
    assert "is stopped" in place.user.fails(1, "monitor", life.name, "--once")
    started = place.user("start", life.name, "--wait")
    assert started.stdout.decode() == f"devserver/{life.name} started\n"
    assert f"next: `devctl ssh {life.name}`" in started.stderr.decode()
    assert volume(life) == before


def test_more_time_counts_from_now(life: DevServer, place: UserPlace) -> None:
    asked = datetime.now(UTC)
    said = place.user("extend", life.name, "--ttl", "2h", "--idle", "8h").stderr.decode()
    answered = datetime.now(UTC)
    told = r"^it expires in (2h|1h59m) \(.* UTC\); its files are kept$"
    assert re.search(told, said, re.MULTILINE)
    life.follow(lambda found: "expiresAt" in found["status"], "status says when it goes")
    goes = datetime.fromisoformat(life.status["expiresAt"])
    # In whole seconds, and no sooner than asked.
    assert asked + LONGER <= goes <= answered + LONGER + timedelta(seconds=1)
    lifecycle = life.get("devserver", life.name)[0]["spec"]["lifecycle"]
    assert (lifecycle["idleTimeout"], lifecycle["autoShutdown"]) == ("8h", True)
    assert "already kept until" in place.user.fails(2, "extend", life.name, "--ttl", "1h")


def test_delete_says_where_the_files_are_and_they_come_back(
    life: DevServer, place: UserPlace
) -> None:
    before = volume(life)
    said = place.user("delete", life.name, "--wait")
    assert said.stdout.decode() == f"devserver/{life.name} deleted\n"
    assert life.get("devserver", life.name) + life.get("pod", f"{life.name}-0") == []
    assert said.stderr.decode().splitlines()[-3:] == [
        f"its files are kept in {home(life)} (10Mi):",
        f"  `devctl create {life.name}` creates a server with them",
        f"  `devctl homes delete --server {life.name}` deletes them",
    ]
    _, row = place.user.must("homes", "list", "--server", life.name).splitlines()
    assert row.split()[:4] == [home(life), life.name, "10Mi", "nobody"]
    refused = place.user.fails(2, "homes", "delete", home(life), "--confirm", "other")
    assert "was not confirmed" in refused
    place.user.must("create", life.name, *place.options, "--wait")
    assert volume(life) == before


def test_a_home_in_use_is_kept(life: DevServer, place: UserPlace) -> None:
    said = place.user.fails(1, "homes", "delete", home(life), f"--confirm={home(life)}")
    assert f"home `{home(life)}` is kept: pod `{life.name}-0` uses it" in said
    assert f"`devctl stop {life.name}`" in said
    assert life.get("persistentvolumeclaim", home(life))


def test_files_go_only_when_their_name_is_typed(life: DevServer, place: UserPlace) -> None:
    said = place.user.fails(2, "delete", life.name, "--delete-home")
    assert f"--confirm={life.name}" in said
    for typed, code in ((life.name[:-1], 2), (life.name, 0)):
        asked = place.user.terminal("delete", life.name, "--delete-home", columns=120)
        asked.expect(f"this deletes {life.name} and all files in {home(life)} ")
        asked.expect(f"Type `{life.name}` to confirm: ")
        asked.sendline(typed)
        asked.expect(f"persistentvolumeclaim/{home(life)} deleted|nothing was deleted")
        asked.wait()
        assert asked.exitstatus == code
        assert bool(life.get("devserver", life.name)) == bool(code)
    wait_until(lambda: not life.get("persistentvolumeclaim", home(life)), "its home is gone")


def test_homes_of_a_server_that_is_gone_are_deleted_by_its_name(place: UserPlace) -> None:
    gone = place.server("gone", persistentHomeSize="10Mi")
    gone.apply(stopped=True)
    wait_until(lambda: bool(gone.get("persistentvolumeclaim", "home-gone-0")), "it has a home")
    place.user.must("delete", "gone", "--wait")
    place.user.must("homes", "delete", "--server", "gone", "--confirm=gone")
    wait_until(lambda: not gone.get("persistentvolumeclaim", "home-gone-0"), "it is gone, too")
