"""Making servers and looking at them, as a user types it who has rights in one namespace only."""

from __future__ import annotations

import json
import re
import signal
from typing import TYPE_CHECKING

import pexpect
import pytest
import yaml
from support.servers import apply_flavor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.user_place import UserPlace

BOX = "box"
EVERY_OPTION = {
    "--image": "torch:1",
    "--replicas": "2",
    "--nproc-per-node": "2",
    "--backend": "gloo",
    "--nccl": "NCCL_DEBUG=INFO",
    "--home-size": "20Mi",
    "--shared": "datasets",
    "--ttl": "3d",
    "--idle-timeout": "2h",
    "--max-runtime": "1d",
    "--delete-after-stopped": "14d",
}
SPEC = {
    "image": "torch:1",
    "mode": "distributed",
    "distributed": {
        "worldSize": 4,
        "nprocsPerNode": 2,
        "backend": "gloo",
        "ncclSettings": {"NCCL_DEBUG": "INFO"},
    },
    "persistentHomeSize": "20Mi",
    "sharedVolumeClaimName": "datasets",
    "lifecycle": {
        "timeToLive": "3d",
        "deleteAfterStopped": "14d",
        "idleTimeout": "2h",
        "maxRuntime": "1d",
        "autoShutdown": True,
    },
    "enableSSH": False,
    "stopped": False,
}
LISTS = {
    "list": "devserver/box",
    "status": "devserver/box",
    "flavors": "devserverflavor/",
    "homes list": "persistentvolumeclaim/home-box-0",
    "events": "event/box.",
}


@pytest.fixture(scope="module")
def screen(place: UserPlace) -> str:
    """What a terminal has shown while a server was made that is ready now."""
    running = place.user.terminal("create", BOX, *place.options, columns=80, timeout=120)
    running.expect(pexpect.EOF)
    running.close()
    assert running.exitstatus == 0, running.before
    return bytes(running.before).decode()


@pytest.fixture
def huge(place: UserPlace) -> Iterator[str]:
    """A flavor that no node can hold."""
    name = f"{place.name}-huge"
    requests = {"cpu": "10m", "memory": "900Gi"}
    yield apply_flavor(place.kubectl, name, resources={"requests": requests})
    place.kubectl("-n", place.name, "delete", "devserver", "huge", "--ignore-not-found")
    place.kubectl("delete", "devserverflavor", name)


def test_create_on_a_terminal_waits_and_names_the_next_command(
    screen: str, place: UserPlace
) -> None:
    first, *states, last = filter(None, re.split(r"\r(?:\x1b\[K|\n)", screen))
    assert first == f"devserver/{BOX} created"
    assert states[0] == f"{BOX}: asked for (0 s)"
    assert all(len(state) < 80 for state in states)
    assert f"{BOX}: Running (Ready): the server is ready (" in states[-1]
    assert last == f"`{BOX}` is ready; next: `devctl ssh {BOX}`"
    assert place.server(BOX).get("devserver", BOX)[0]["spec"]["owner"] == place.owner


def test_a_wait_says_why_and_ctrl_c_ends_only_the_wait(place: UserPlace, huge: str) -> None:
    running = place.user.terminal("create", "huge", "--flavor", huge, columns=120)
    running.expect(r"huge: Pending \(Unschedulable\): flavor `.*` fits no node: none of")
    running.sendintr()
    running.expect("`huge` keeps starting: see `devctl status huge --watch`")
    running.expect(pexpect.EOF)
    running.close()
    assert running.exitstatus == 130
    said = place.user.fails(4, "start", "huge", "--wait", "--timeout", "1s")
    assert (
        f"`huge` is not ready after 1 s (Pending): Unschedulable: flavor `{huge}` fits no node"
        in said
    )
    assert "  fix: it keeps starting: look with `devctl describe huge`" in said


def test_every_option_of_create_passes_the_servers_rules(place: UserPlace) -> None:
    options = [word for pair in EVERY_OPTION.items() for word in pair]
    flags = ("--distributed", "--no-ssh", "--flavor", place.name)
    line = ("create", "dry", *options, *flags, "--dry-run=server", "-o", "json")
    made = json.loads(place.user.must(*line))
    assert "managedFields" not in made["metadata"]
    assert made["spec"] == SPEC | {"owner": place.owner, "flavor": place.name}
    told = place.user.must("create", "dry", *place.options, "--dry-run=client")
    assert told == "devserver/dry created (dry run)\n"
    assert place.server("dry").get("devserver", "dry") == []


@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("line", LISTS)
def test_lists_have_every_format(place: UserPlace, line: str) -> None:
    words = line.split()
    names = place.user.must(*words, "-o", "name").splitlines()
    assert any(name.startswith(LISTS[line]) for name in names)
    (output,) = {"list": ["wide"], "status": ["yaml"]}.get(line, ["json"])
    told = place.user.must(*words, "-o", output)
    if output == "wide":
        assert f" {place.owner} " in told
    else:
        items = yaml.safe_load(told)["items"]
        assert {item["metadata"]["name"] for item in items} >= {
            name.partition("/")[2] for name in names if line != "flavors"
        }


@pytest.mark.usefixtures("screen")
def test_what_is_listed_can_be_chosen(place: UserPlace) -> None:
    place.kubectl("-n", place.name, "label", "devserver", BOX, "team=vision")
    for line in ("list", "status"):
        assert BOX in place.user.must(line, "-l", "team=vision")
        assert place.user.must(line, "-l", "team=audio") == ""
    everywhere = place.administrator.must("list", "-A").splitlines()
    assert any(row.split()[:2] == [place.name, BOX] for row in everywhere)
    assert "Running" in place.user.must("describe", BOX)
    assert json.loads(place.user.must("describe", BOX, "-o", "json"))["metadata"]["name"] == BOX
    told = place.user.must("events", BOX)
    # Of the server itself and of its pod; what lies between may have passed unseen.
    assert re.search(rf"devserver/{BOX} .* the server is ready$", told, re.MULTILINE)
    assert re.search(rf"Scheduled +pod/{BOX}-0 ", told)


@pytest.mark.usefixtures("screen")
def test_a_screen_of_40_columns_is_readable(place: UserPlace) -> None:
    for line in (("list",), ("status",), ("describe", BOX), ("events", BOX)):
        running = place.user.terminal(*line, columns=40)
        running.expect(pexpect.EOF)
        shown = re.sub(r"\x1b\[\d*m", "", bytes(running.before).decode()).splitlines()
        assert max(map(len, shown)) <= 40
        assert any("Running" in row for row in shown)


@pytest.mark.usefixtures("screen")
def test_top_names_a_server_that_cannot_be_measured(place: UserPlace) -> None:
    # No program runs on a plane, so no replica can answer.
    items = json.loads(place.user.must("top", "-o", "json"))["items"]
    (box,) = (item for item in items if item["name"] == BOX)
    assert (box["kind"], box["phase"], box["owner"]) == ("server", "Running", place.owner)
    assert box["cpu"] == {"used": None, "limit": None}
    assert [problem.partition(": ")[0] for problem in box["problems"]] == [f"{BOX}-0"]
    told = place.administrator.must("top", "-A", "--sort-by", "age").splitlines()
    assert any(row.split()[:4] == [place.name, BOX, "server", "Running"] for row in told)
    assert any(row.startswith(f"not measured: {BOX}-0: ") for row in told)


def test_status_watches_until_ctrl_c(place: UserPlace) -> None:
    place.user.must("create", "seen", *place.options, "--wait")
    watching = place.user.start("status", "seen", "--watch")
    assert watching.stdout
    assert watching.stdout.readline().decode() == "seen: Running (Ready): the server is ready\n"
    place.user.must("stop", "seen")
    lines = iter(watching.stdout.readline, b"")
    assert any(line.startswith(b"seen: Stopped") for line in lines)
    watching.send_signal(signal.SIGINT)
    assert watching.wait(timeout=20) == 130
    picture = place.user.terminal("status", "--watch", columns=80)
    picture.expect("seen +.*Stopped")
    picture.sendintr()
    picture.expect(pexpect.EOF)
    picture.close()
    assert picture.exitstatus == 130


def test_lists_and_events_are_watched(place: UserPlace) -> None:
    place.user.must("create", "shown", *place.options, "--no-wait")
    path = 'jsonpath={.metadata.name} {.spec.stopped}{"\\n"}'
    listing = place.user.start("list", "--watch", "-o", path)
    events = place.user.start("events", "shown", "--watch", "-o", 'jsonpath={.reason}{"\\n"}')
    try:
        assert listing.stdout
        assert events.stdout
        assert "shown false\n" in map(bytes.decode, iter(listing.stdout.readline, b""))
        place.user.must("stop", "shown")
        assert "shown true\n" in map(bytes.decode, iter(listing.stdout.readline, b""))
        # What has happened to it by then, or will.
        assert events.stdout.readline().strip().isalpha()
    finally:
        for running in (listing, events):
            running.send_signal(signal.SIGINT)
    assert [running.wait(timeout=20) for running in (listing, events)] == [130, 130]
