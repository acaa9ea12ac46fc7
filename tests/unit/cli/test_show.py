"""The commands that show: list, describe, status, events, flavors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from devctl.cli import flavors
from devctl.cli import list as listed
from devctl.cli.describe import facts, tables
from devctl.cli.page import page
from devctl.client.events import Event
from devctl.client.flavors import Flavor
from devctl.client.servers import Server
from unit.client.objects import (
    EVENTS,
    FLAVORS,
    NAMESPACE,
    SERVERS,
    ago,
    event,
    flavor,
    server,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from syrupy.assertion import SnapshotAssertion

    from unit.cli.conftest import Devctl, Tty
    from unit.client.fake_cluster import FakeApi, Thing

MESSAGE = "no node has enough free `nvidia.com/gpu`; wait until others stop\n\x1b[31m"


EVIL = "\x1b]52;c;bHMK\x07\x9b2J\n\x1b[31m"
"""Writes the clipboard and wipes the screen."""
LOOKS = [
    "list -o wide",
    "list -o json",
    "list -o yaml",
    "status",
    "status evil",
    "describe evil",
    "describe evil -o json",
    "describe evil -o yaml",
    "events",
    "events -o json",
    "events -o yaml",
    "exec evil -- true",
    "start evil --wait --timeout 1s",
]


@pytest.mark.parametrize("line", LOOKS)
def test_no_word_of_a_status_or_an_event_reaches_the_terminal_raw(
    line: str, api: FakeApi, devctl: Devctl
) -> None:
    thing = server("evil", "Failed", reason=EVIL, message=EVIL, spec={"owner": EVIL, "image": EVIL})
    thing["status"] |= {"phase": EVIL, "startedAt": EVIL}
    thing["status"]["conditions"][0]["type"] = "Ready"
    api.add(SERVERS, thing)
    api.add(EVENTS, event("DevServer/evil", EVIL, EVIL))
    found = devctl(*line.split())
    shown = (found.stdout + found.stderr).replace("\n", "")
    assert shown.isprintable()
    assert "52;c;bHMK" in shown
    assert "ValueError" not in shown
    # Documents say the same as before, in the words of their own rules.
    if line == "describe evil -o json":
        assert json.loads(found.stdout)["status"]["phase"] == EVIL
    if line == "describe evil -o yaml":
        assert yaml.safe_load(found.stdout)["status"]["phase"] == EVIL


def newer() -> Thing:
    """A server as a newer release could have it: words, fields and a layout that are new."""
    thing = server(
        "new", "Hibernating", replicas=2, reason="LowCarbon", message="until it is windy"
    )
    thing["spec"] |= {"distributed": {"elastic": {"min": 1}}, "colour": "green"}
    thing["status"] |= {"startedAt": "some day", "mood": {"good": True}, "readyReplicas": "few"}
    thing["status"]["replicaStatuses"][0] |= {"phase": "Dreaming", "dream": "sheep"}
    thing["status"]["replicaStatuses"][1] = {"phase": "Waking"}
    thing["status"]["conditions"] += [{"kind": "Odd"}, {"type": "Windy", "status": "Maybe"}]
    return thing


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("list", "Hibernating  LowCarbon"),
        ("list -o json", '"mood"'),
        ("list -o yaml", "colour: green"),
        ("list -o name", "devserver/new\ndevserver/old"),
        ("status", "until it is windy"),
        ("status new -o yaml", "phase: Dreaming"),
        ("describe new", "Phase:        Hibernating (LowCarbon)\n"),
        ("describe new", "new-0  Dreaming  LowCarbon"),
        ("describe new -o json", '"dream": "sheep"'),
        ("events", "SleptWell"),
    ],
)
def test_what_a_newer_release_says_is_shown_as_it_is(
    line: str, said: str, api: FakeApi, devctl: Devctl
) -> None:
    api.add(SERVERS, newer(), server("old"))
    happened = event("ServerMood/new", "SleptWell", "it slept")
    happened["type"] = "Delightful"
    api.add(EVENTS, happened, event("DevServer/new") | {"series": {"count": "often"}})
    found = devctl(*line.split())
    assert (found.code, found.stderr) == (0, "")
    assert said in found.stdout


def test_one_server_of_a_newer_release_ends_no_wait(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, newer())

    def wakes() -> None:
        api.add(SERVERS, server("new", "Running") | {"spec": newer()["spec"]})

    api.then.append(wakes)
    found = devctl("start", "new", "--wait", "--timeout", "1m")
    assert found.code == 0
    assert "new: Hibernating (LowCarbon): until it is windy" in found.stderr
    assert "`new` is ready" in found.stderr


@pytest.fixture
def several(api: FakeApi) -> FakeApi:
    api.add(SERVERS, server("lab", expiresAt="2026-01-03T12:00:00Z", spec={"flavor": ""}))
    waits = server("waits", "Pending", replicas=2, reason="Unschedulable", message=MESSAGE)
    waits["metadata"]["labels"] = {"team": "vision"}
    api.add(SERVERS, waits, server("off", "Stopped"), server("new", ""))
    other = server("other")
    other["metadata"]["namespace"] = "dev-bob"
    api.add(SERVERS, other)
    return api


@pytest.mark.parametrize("line", ["list", "status"])
@pytest.mark.parametrize("output", ["table", "wide", "name"])
def test_lists(
    line: str, output: str, several: FakeApi, devctl: Devctl, snapshot: SnapshotAssertion
) -> None:
    found = devctl(line, "-o", output)
    assert (found.code, found.stderr) == (0, "")
    assert found.stdout == snapshot
    assert "\x1b" not in found.stdout
    spent = ["GET usages"] if (line, output) == ("list", "wide") else []
    assert several.requests == [*spent, "GET devservers"]


@pytest.mark.parametrize("line", ["list", "status"])
@pytest.mark.parametrize("output", ["json", "yaml"])
def test_documents_are_what_the_cluster_says(
    line: str, output: str, several: FakeApi, devctl: Devctl
) -> None:
    load = json.loads if output == "json" else yaml.safe_load
    there = [thing for key, thing in several.things.items() if key[:2] == (SERVERS, NAMESPACE)]
    assert load(devctl(line, "-o", output).stdout)["items"] == there


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("list -A", ["lab", "waits", "off", "new", "other"]),
        ("list -l team=vision", ["waits"]),
        ("list -l team", ["waits"]),
        ("-n dev-bob list", ["other"]),
        ("list -n dev-bob", ["other"]),
        ("status lab off lab", ["lab", "off"]),
        ("status -A", ["lab", "waits", "off", "new", "other"]),
    ],
)
def test_which_are_listed(line: str, names: list[str], several: FakeApi, devctl: Devctl) -> None:
    assert several.names(SERVERS)
    found = devctl(*line.split(), "-o", "name")
    assert found.stdout.splitlines() == [f"devserver/{name}" for name in names]


def test_all_namespaces_are_a_column(several: FakeApi, devctl: Devctl) -> None:
    assert several.names(SERVERS)
    assert "dev-bob    other" in devctl("list", "-A").stdout


def test_a_list_fits_80_columns(several: FakeApi, devctl: Devctl) -> None:
    assert several.names(SERVERS)
    assert max(map(len, devctl("list").stdout.splitlines())) <= 80


@pytest.mark.usefixtures("api")
def test_an_empty_list_says_what_to_do(devctl: Devctl) -> None:
    assert devctl("list", "-n", "team") == (
        0,
        "",
        "no servers in namespace `team`; create one with `devctl create NAME`\n",
    )
    assert json.loads(devctl("list", "-o", "json").stdout)["items"] == []
    found = devctl("list", "-l", "a=b")
    assert found.stderr == f"no servers with `a=b` in namespace `{NAMESPACE}`; see all without -l\n"


def test_a_thousand_servers_are_listed_by_pages(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, *(server(f"lab-{number}") for number in range(1000)))
    assert len(devctl("list").stdout.splitlines()) == 1001
    assert api.requests == ["GET devservers"] * 2


@pytest.mark.parametrize("phase", ["", "Pending", "Running", "Stopped", "Failed"])
def test_the_page_of_a_server(phase: str, snapshot: SnapshotAssertion) -> None:
    options: dict[str, Any] = {}
    if phase in {"Pending", "Failed"}:
        options = {"reason": "Unschedulable", "message": MESSAGE}
    if phase == "Running":
        options = {
            "replicas": 2,
            "expiresAt": "2026-01-03T12:00:00Z",
            "startedAt": ago(minutes=3),
            "runEndsAt": "2026-01-03T00:00:00Z",
            "spec": {
                "lifecycle": {"idleTimeout": "90m", "timeToLive": "1d", "maxRuntime": "12h"},
                "sharedVolumeClaimName": "data",
            },
        }
    if phase == "Stopped":
        options = {
            "stoppedAt": "2026-01-01T12:00:00Z",
            "spec": {"lifecycle": {"deleteAfterStopped": "14d"}},
        }
    found = Server(server("lab", phase, **options))
    if phase == "Running":
        found.raw["status"]["conditions"].append(
            {"type": "RestartRequired", "status": "True", "message": "`image` waits for a start"}
        )
    events = [Event(event("Pod/lab-0", "Started")), Event(event("DevServer/lab", "FailedIt"))]
    for width in (0, 50):
        lines = page(facts(found), events, width, tables(found))
        assert "\n".join(lines) == snapshot
        assert not width or max(map(len, lines)) <= width


def test_describe_names_what_administrators_limit(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, server("lab"))
    limit = {"spec": {"idleTimeout": {"minimum": "1h"}}, "metadata": {"name": "gpus"}}
    api.add("lifecyclepolicies", limit)
    said = devctl("describe", "lab").stdout
    assert "Limits:       idleTimeout at least 1h (LifecyclePolicy `gpus`)" in said


def test_describe(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, server("lab", "Pending", reason="Unschedulable", message=MESSAGE))
    api.add(EVENTS, event("Pod/lab-0"), event("Pod/other-0", "Other"))
    found = devctl("describe", "lab")
    assert "Scheduled" in found.stdout
    assert "Other" not in found.stdout
    assert "\x1b" not in found.stdout
    assert json.loads(devctl("describe", "lab", "-o", "json").stdout)["kind"] == "DevServer"
    api.refusals["GET", EVENTS] = (403, "no")
    assert devctl("describe", "lab").code == 0


def test_describe_shows_how_hooks_ended(api: FakeApi, devctl: Devctl) -> None:
    found = server("lab", "Stopped", stopped=True)
    said = {"at": "2026-01-01T00:00:00Z", "event": "Evicted", "exitCode": 3, "seconds": 12}
    entry = {"name": "save", "replica": 1, "result": "Failed", "output": "no \x1b[31m room"}
    found["status"]["hooks"] = [entry | said]
    api.add(SERVERS, found)
    title, line = devctl("describe", "lab").stdout.partition("Hooks:\n")[2].splitlines()[:2]
    assert title.split() == ["AGE", "HOOK", "REPLICA", "EVENT", "RESULT", "SECONDS", "MESSAGE"]
    assert line.split()[1:6] == ["save", "1", "Evicted", "Failed", "12"]
    assert "\\x1b[31m room" in line


def test_events(api: FakeApi, devctl: Devctl, snapshot: SnapshotAssertion) -> None:
    api.add(SERVERS, server("lab"))
    assert devctl("events", "lab").stderr.startswith("no recent events")
    api.add(EVENTS, event("Pod/lab-0", "FailedMount", "it hangs", minutes=1))
    api.add(EVENTS, event("DevServer/lab", "Created", minutes=9), event("Pod/other-0", minutes=3))
    assert devctl("events").stdout == snapshot
    assert devctl("events", "lab").stdout == snapshot
    assert len(json.loads(devctl("events", "lab", "-o", "json").stdout)["items"]) == 2


def test_the_price_is_shown_if_some_flavor_has_one(api: FakeApi, devctl: Devctl) -> None:
    asks = {"cpu": 8, "memory": "32Gi", "nvidia.com/gpu": 2}
    cost = {"perHour": "1.20", "perGPUHour": 2, "currency": "EUR"}
    api.add("devserverflavors", flavor("cpu"))
    assert "PRICE" not in devctl("flavors").stdout
    api.add("devserverflavors", flavor("gpu", asks, price=cost))
    cpu, gpu = devctl("flavors", "--sort-by", "price").stdout.splitlines()[1:]
    assert "5.20 EUR/h" in gpu
    assert "/h" not in cpu


def test_flavors(api: FakeApi, devctl: Devctl, snapshot: SnapshotAssertion) -> None:
    small = flavor(default=True)
    gpu = flavor("gpu", {"cpu": 1, "memory": "1Gi", "nvidia.com/gpu": 1})
    small["status"] |= {"free": 14, "total": 16}
    gpu["status"] |= {"free": 1, "total": 2}
    api.add(FLAVORS, small, gpu)
    assert devctl("flavors").stdout == snapshot
    assert devctl("flavors", "-o", "wide").stdout == snapshot
    assert (
        devctl("flavors", "-o", "name").stdout == "devserverflavor/cpu-small\ndevserverflavor/gpu\n"
    )
    # The observer has not looked at this one yet.
    api.things[FLAVORS, "", "gpu"]["status"] = {}
    told = devctl("flavors")
    assert told.stdout == snapshot
    assert "FREE and TOTAL are not known: the observer has not counted" in told.stderr


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("describe nobody", 3, "there is no server `nobody` in namespace `dev-alice`"),
        ("describe", 2, "missing argument 'NAME'"),
        ("status nobody", 3, "there is no server `nobody`"),
        ("status lab -A", 2, "names are of one namespace"),
        ("status -w -o json", 2, "--watch shows a table"),
        ("flavors -w -o json", 2, "--watch shows a table"),
        ("events nobody", 3, "there is no server `nobody`"),
        ("events lab -A", 2, "`lab` is a server of one namespace"),
        ("list -l =x", 2, "`=x` is not a label"),
        ("list -o xml", 2, "`xml` is not a format"),
        ("list extra", 2, "extra"),
    ],
)
def test_errors_are_two_lines(
    line: str, code: int, said: str, api: FakeApi, devctl: Devctl
) -> None:
    api.add(SERVERS, server("lab"))
    found = devctl(*line.split())
    assert (found.code, found.stdout) == (code, "")
    error, fix = found.stderr.splitlines()
    assert error.startswith("error: ")
    assert said in error
    assert fix.startswith("  fix: ")


@pytest.mark.parametrize(
    ("refused", "code"), [((401, "Unauthorized"), 5), ((403, "forbidden"), 5), ((500, "broken"), 1)]
)
def test_refusals(refused: tuple[int, str], code: int, api: FakeApi, devctl: Devctl) -> None:
    api.refusals["GET", SERVERS] = refused
    found = devctl("list")
    assert (found.code, found.stdout, len(found.stderr.splitlines())) == (code, "", 2)


def test_news_are_what_has_changed() -> None:
    before = [Server(server("lab")), Server(server("gone"))]
    after = [Server(server("lab", "Stopped")), Server(server("new", ""))]
    assert listed.news(before, None) == ["lab: Running", "gone: Running"]
    assert listed.news(before, before) == []
    assert listed.news(after, before) == [
        "gone: deleted",
        "lab: Stopped",
        "new: Pending",
    ]
    free = [Flavor(flavor("gpu") | {"status": {"free": 2, "total": 4}})]
    assert flavors.news(free, None) == ["gpu: 2 of 4 free"]
    assert flavors.news(free, free) == []
    cordoned = [Flavor(flavor("gpu", cordoned=True) | {"status": {"free": 2, "total": 4}})]
    assert flavors.news(cordoned, free) == ["gpu: 2 of 4 free, cordoned"]


def test_jsonpath_shows_part_of_what_there_is(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, server("lab"), server("other", "Stopped"))
    path = "jsonpath={.items[*].metadata.name}"
    assert devctl("list", "-o", path) == (0, "lab other", "")
    assert devctl("status", "-o", path).stdout == "lab other"
    ready = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    assert devctl("describe", "lab", "-o", ready).stdout == "True"
    assert devctl("describe", "lab", "-o", "name").stdout == "devserver/lab\n"


def test_jsonpath_on_a_terminal_shows_words_of_others_escaped(
    api: FakeApi,
    devctl: Devctl,
    tty: Callable[[], Tty],
) -> None:
    api.add(SERVERS, server("lab", message=EVIL))
    screen = tty()
    path = 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{.status.conditions[0].message}{end}'
    assert devctl("list", "-o", path).code == 0
    said = screen.written().decode()
    assert said.startswith("lab\n")
    assert said.replace("\n", "").isprintable()
