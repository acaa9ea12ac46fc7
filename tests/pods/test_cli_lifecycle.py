"""Stop, start, extend, delete, and the homes that stay: on one server of a user's."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.servers import DevServer
    from support.user_place import UserPlace

LIFE, HOME = "life", "home-life-0"
LONGER = timedelta(hours=2)


@pytest.fixture(scope="module")
def life(place: UserPlace) -> DevServer:
    """A server that is ready, with a file in its home."""
    place.user.must("create", LIFE, *place.options, "--wait")
    server = place.server(LIFE)
    server.run("echo kept > /home/dev/file")
    return server


@pytest.fixture
def deleted(life: DevServer, place: UserPlace) -> Iterator[str]:
    """What was said when the server was deleted; afterwards it is there again."""
    said = place.user("delete", LIFE, "--wait")
    assert said.stdout.decode() == f"devserver/{LIFE} deleted\n"
    assert life.get("devserver,pod") == []
    yield said.stderr.decode()
    place.user.must("create", LIFE, *place.options, "--wait")


def test_a_server_keeps_its_files_over_a_stop(life: DevServer, place: UserPlace) -> None:
    stopped = place.user("stop", LIFE, "--wait")
    assert stopped.stdout.decode() == f"devserver/{LIFE} stopped\n"
    assert stopped.stderr.decode().endswith(f"next: `devctl start {LIFE}`\n")
    assert (life.status["phase"], life.get("pod")) == ("Stopped", [])
    assert "is stopped" in place.user.fails(1, "exec", LIFE, "--", "true")
    assert "is stopped" in place.user.fails(1, "monitor", LIFE, "--once")
    started = place.user("start", LIFE, "--wait")
    assert started.stdout.decode() == f"devserver/{LIFE} started\n"
    assert f"next: `devctl ssh {LIFE}`" in started.stderr.decode()
    assert life.run("cat /home/dev/file") == "kept"


def test_more_time_counts_from_now(life: DevServer, place: UserPlace) -> None:
    asked = datetime.now(UTC)
    said = place.user("extend", LIFE, "--ttl", "2h", "--idle", "8h").stderr.decode()
    answered = datetime.now(UTC)
    assert re.search(r"^it goes in (2h|1h59m) \(.* UTC\); its files stay$", said, re.MULTILINE)
    wait_until(lambda: "expiresAt" in life.status, "status says when it goes")
    goes = datetime.fromisoformat(life.status["expiresAt"])
    # In whole seconds, and no sooner than asked.
    assert asked + LONGER <= goes <= answered + LONGER + timedelta(seconds=1)
    lifecycle = life.get("devserver", LIFE)[0]["spec"]["lifecycle"]
    assert (lifecycle["idleTimeout"], lifecycle["autoShutdown"]) == ("8h", True)
    assert "stays until" in place.user.fails(2, "extend", LIFE, "--ttl", "1h")


def test_delete_says_where_the_files_are_and_they_come_back(
    deleted: str, life: DevServer, place: UserPlace
) -> None:
    assert deleted.splitlines()[-3:] == [
        f"its files are kept in {HOME} (10Mi):",
        f"  `devctl create {LIFE}` makes a server that has them again",
        f"  `devctl homes delete --server {LIFE}` removes them",
    ]
    _, row = place.user.must("homes", "list", "--server", LIFE).splitlines()
    assert row.split()[:4] == [HOME, LIFE, "10Mi", "nobody"]
    assert "was not confirmed" in place.user.fails(2, "homes", "delete", HOME, "--confirm", "other")
    assert life.get("pvc", HOME)


def test_a_home_in_use_is_kept(life: DevServer, place: UserPlace) -> None:
    assert life.run("cat /home/dev/file") == "kept"
    said = place.user.fails(1, "homes", "delete", HOME, f"--confirm={HOME}")
    assert f"home `{HOME}` is kept: pod `{LIFE}-0` uses it" in said
    assert f"`devctl stop {LIFE}`" in said


def test_files_go_only_when_their_name_is_typed(life: DevServer, place: UserPlace) -> None:
    assert "--confirm=life" in place.user.fails(2, "delete", LIFE, "--delete-home")
    for typed, code in (("lif", 2), (LIFE, 0)):
        asked = place.user.terminal("delete", LIFE, "--delete-home", columns=120)
        asked.expect(f"this deletes {LIFE} and all files in {HOME} ")
        asked.expect(f"Type `{LIFE}` to go on: ")
        asked.sendline(typed)
        asked.expect("persistentvolumeclaim/home-life-0 deleted|nothing was deleted")
        asked.wait()
        assert asked.exitstatus == code
        assert bool(life.get("devserver", LIFE)) == bool(code)
    wait_until(lambda: not life.get("pvc", HOME), "its home is gone")


def test_homes_of_a_server_that_is_gone_are_deleted_by_its_name(place: UserPlace) -> None:
    gone = place.server("gone", persistentHomeSize="10Mi")
    gone.apply(stopped=True)
    wait_until(lambda: bool(gone.get("pvc", "home-gone-0")), "it has a home")
    place.user.must("delete", "gone", "--wait")
    place.user.must("homes", "delete", "--server", "gone", "--confirm=gone")
    wait_until(lambda: not gone.get("pvc", "home-gone-0"), "it is gone, too")
