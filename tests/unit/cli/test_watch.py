"""What goes on until Ctrl-C: list, status and events with --watch; and --sort-by."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from devctl.cli.listing import sorter
from devctl.client import servers
from devctl.client.servers import Server
from devctl.errors import DeniedError, DevctlError
from devctl.kube.cluster import Change
from unit.client.objects import EVENTS, SERVERS, ago, event, server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unit.cli.conftest import Devctl, Tty
    from unit.client.fake_cluster import FakeApi


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def lab(api: FakeApi) -> FakeApi:
    """Two servers, one of which will run and the other be deleted; and then Ctrl-C."""
    api.add(SERVERS, server("lab", "Pending"), server("old"))
    uid = api.get(SERVERS, "lab")["metadata"]["uid"]

    def runs() -> None:
        thing = server("lab")
        thing["metadata"]["uid"] = uid
        api.add(SERVERS, thing)

    api.then = [runs, lambda: api.drop(SERVERS, "old"), interrupt]
    return api


def test_list_prints_each_change(lab: FakeApi, devctl: Devctl) -> None:
    found = devctl("list", "--watch")
    assert (found.code, found.stderr) == (130, "")
    title, first, second, changed, gone = found.stdout.splitlines()
    assert title.split()[:3] == ["NAME", "FLAVOR", "PHASE"]
    assert [row.split()[2] for row in (first, second, changed)] == ["Pending", "Running", "Running"]
    assert changed.split()[0] == "lab"
    assert gone == "devserver/old deleted"
    # A list, and from then on a watch.
    assert lab.requests == ["GET devservers", "WATCH devservers"]


@pytest.mark.parametrize(
    ("output", "printed"),
    [
        ("name", "devserver/lab\ndevserver/old\ndevserver/lab\n"),
        (
            'jsonpath={.metadata.name}={.status.phase}{"\\n"}',
            "lab=Pending\nold=Running\nlab=Running\n",
        ),
    ],
)
def test_programs_get_each_object_as_it_changes(
    output: str, printed: str, lab: FakeApi, devctl: Devctl
) -> None:
    assert devctl("list", "-w", "-o", output) == (130, printed, "")
    assert lab.names(SERVERS) == ["lab"]


def test_a_terminal_shows_the_list_as_it_is(
    lab: FakeApi, devctl: Devctl, tty: Callable[[], Tty]
) -> None:
    screen = tty()
    assert devctl("list", "-w").code == 130
    pages = screen.written().decode().split("\x1b[H")
    assert "Pending" in pages[1]
    assert "old" not in pages[-1]
    assert lab.requests == ["GET devservers", "WATCH devservers"]


def test_status_follows_the_watch(lab: FakeApi, devctl: Devctl) -> None:
    found = devctl("status", "--watch")
    assert found == (130, "lab: Pending\nold: Running\nlab: Running\nold: deleted\n", "")
    assert lab.requests == ["GET devservers", "WATCH devservers"]


@pytest.mark.usefixtures("lab")
def test_status_of_a_server_ends_with_it(devctl: Devctl) -> None:
    found = devctl("status", "old", "--watch")
    assert (found.code, found.stdout) == (3, "old: Running\nold: deleted\n")
    assert found.stderr.startswith("error: `old` was deleted\n  fix: its files are kept")
    assert devctl("status", "nobody", "--watch").code == 3


def test_events_come_as_they_happen(api: FakeApi, devctl: Devctl) -> None:
    api.add(SERVERS, server("lab"))
    api.add(EVENTS, event("Pod/lab-0", "Scheduled", minutes=5), event("Pod/x-0", "Scheduled"))
    api.then = [
        lambda: api.add(EVENTS, event("Pod/lab-0", "FailedMount", "no volume", minutes=1)),
        interrupt,
    ]
    found = devctl("events", "lab", "--watch")
    assert (found.code, found.stderr) == (130, "")
    title, first, second = found.stdout.splitlines()
    assert title.split() == ["AGE", "TYPE", "REASON", "ABOUT", "MESSAGE"]
    assert first.split()[:3] == ["5m", "Normal", "Scheduled"]
    assert second.split() == ["60s", "Warning", "FailedMount", "pod/lab-0", "no", "volume"]
    api.then = [interrupt]
    found = devctl("events", "lab", "-w", "-o", "jsonpath={.reason};")
    assert found.stdout == "Scheduled;FailedMount;"


def test_a_watch_that_is_lost_goes_on(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = [server("a")]
    there[0]["metadata"]["uid"] = "1"
    later = server("b") | {"metadata": server("b")["metadata"] | {"uid": "2"}}
    turns: Iterator[Any] = iter(
        [
            [Change("ADDED", there[0])],
            DevctlError("lost"),
            [Change("ADDED", later)],
            DeniedError("no"),
        ]
    )

    def watch(*_: object, **__: object) -> Any:
        turn = next(turns)
        if isinstance(turn, Exception):
            raise turn
        return turn

    naps: list[float] = []
    monkeypatch.setattr(servers, "time", SimpleNamespace(sleep=naps.append))
    cluster: Any = SimpleNamespace(list=lambda *_: there, watch=watch)
    seen = servers.Servers(cluster).snapshots()
    said: list[tuple[list[str], str]] = []
    with pytest.raises(DeniedError, match=r"^no$"):
        said.extend(([item.name for item in found.items], found.trouble) for found in seen)
    assert said == [
        (["a"], ""),
        (["a"], "lost; trying again"),
        (["a", "b"], ""),
        # The list that comes with the next watch does not have it.
        (["a"], ""),
    ]
    assert [0 < nap < 1 for nap in naps] == [True]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("key", "order"),
    [
        ("", "b c a"),
        ("name", "a b c"),
        ("age", "c b a"),
        ("ready", "a b c"),
        ("phase", "b c a"),
        ("expires", "b c a"),
        (".metadata.name", "a b c"),
        ("{.metadata.creationTimestamp}", "a b c"),
        (".spec.nope", "b c a"),
        ('.status.conditions[?(@.type=="Ready")].message', "c a b"),
    ],
)
def test_the_order_is_that_of_a_column_or_a_path(
    key: str, order: str, api: FakeApi, devctl: Devctl
) -> None:
    things = {name: server(name, message=text) for name, text in zip("bca", "zxy", strict=True)}
    for name, hours in (("a", 9), ("b", 2), ("c", 1)):
        things[name]["metadata"]["creationTimestamp"] = ago(hours=hours)
    things["a"]["status"] |= {"readyReplicas": 0, "expiresAt": ago(days=-1)}
    things["c"]["status"]["readyReplicas"] = 10
    api.add(SERVERS, *things.values())
    path = "jsonpath={.items[*].metadata.name}"
    assert devctl("list", "--sort-by", key, "-o", path).stdout == order


@pytest.mark.parametrize("command", ["list", "flavors", "homes list"])
def test_a_key_that_is_none_is_refused_before_anything_is_asked(
    command: str, api: FakeApi, devctl: Devctl
) -> None:
    found = devctl(*command.split(), "--sort-by", "colour")
    assert (found.code, found.stdout) == (2, "")
    assert "`colour` is not a column" in found.stderr
    assert api.requests == []


def test_quantities_are_numbers() -> None:
    by = sorter("{.q}", [])
    items = [Server({"q": q}) for q in ("1Gi", "500Mi", "2G", "100m", 3, None, "x")]
    shown = [json.loads(json.dumps(item.raw["q"])) for item in sorted(items, key=by)]
    assert shown == [None, "100m", 3, "500Mi", "1Gi", "2G", "x"]
