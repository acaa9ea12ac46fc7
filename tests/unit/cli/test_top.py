"""`devctl top`."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from devctl.cli.graphs import History
from devctl.cli.top import COLUMNS, picture, shares
from devctl.client.jobs.job import Job
from devctl.client.load import Load
from devctl.client.monitor import Gpu, Sample, Usage
from devctl.client.servers import Server
from devctl.client.top import Top
from devctl.errors import DevctlError
from devctl.kube.cluster import EVERYWHERE
from unit.client.job_things import job
from unit.client.objects import ago, server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unit.cli.conftest import Devctl, Terminal
    from unit.client.fake_cluster import FakeApi

GIB = 1024**3
USAGE = Usage(
    cpus=4, memory=3 * GIB, memory_size=8 * GIB, gpus=[Gpu(0, "Tesla T4", 37, 5 * GIB, 15 * GIB)]
)
IDLE = {"since": ago(minutes=40), "stopsAt": "2026-01-02T12:20:00Z"}
LOADS = [
    Load(
        Server(server("lab", requests={"nvidia.com/gpu": "1"}, idle=IDLE)),
        [Sample(0, "lab-0", USAGE, 0.504)],
    ),
    Load(
        Server(server("silent")), [Sample(0, "silent-0", problem="it does not answer within 5 s")]
    ),
    Load(Server(server("old", "Stopped"))),
    Load(Job(job("my-job", "Running"))),
]


@pytest.fixture
def looks(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> list[Any]:  # noqa: ARG001 - no cluster
    """What is seen, look by look; then Ctrl-C."""
    found: list[Any] = []

    def watch(*_args: object, **_options: object) -> Iterator[Any]:
        while found:
            seen = found.pop(0)
            if isinstance(seen, BaseException):
                raise seen
            yield seen
        raise KeyboardInterrupt

    monkeypatch.setattr(Top, "watch", watch)
    monkeypatch.setattr(Top, "once", lambda *_args: next(watch()))
    monkeypatch.setattr("devctl.cli.live.time", SimpleNamespace(sleep=lambda _seconds: None))
    return found


@pytest.mark.parametrize(("width", "spare"), [(0, True), (100, True), (60, False)])
def test_the_picture_says_what_each_uses_and_makes_room(width: int, *, spare: bool) -> None:
    lines = picture(LOADS, COLUMNS, width)
    title, lab, silent, old, held, note = lines
    for said in ("Running", "0.5 of 4", "3Gi of 8", "37% of 1", "40m", "in 20m"):
        assert said in lab
    for part, where in (("KIND", title), ("AGE", title), ("GPU MEMORY", title), ("server", lab)):
        assert (part in where) is spare
    for whole in ("3Gi of 8Gi (38%)", "5Gi of 15Gi (33%)"):
        assert (whole in lab) is spare
    assert silent.split()[-2:] == ["?", "?"]
    assert old.split() == (["old", "server", "Stopped", "2h"] if spare else ["old", "Stopped"])
    # What a job holds, of which nothing is measured.
    assert held.split() == ["my-job", *(["job", "Running", "15m"] if spare else ["Running"]), "1"]
    assert held.rindex("1") == title.index("GPU")
    assert note == "not measured: silent-0: it does not answer within 5 s"
    assert all(line.isprintable() for line in lines)
    assert not width or max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [0, 80, 100, 140, 200])
def test_a_picture_that_goes_on_shows_the_past_where_there_is_room(width: int) -> None:
    history = History()
    for _ in range(3):
        history.note(shares(LOADS))
    lines = picture(LOADS, COLUMNS, width, history)
    assert ("▂▂▂" in lines[1]) is (width >= 100)
    assert ("▄▄▄" in lines[1]) is (width >= 100)
    assert ("AGE" in lines[0]) is (width != 100), "spare columns make room"
    assert not width or max(map(len, lines)) <= width


def test_once(looks: list[Any], devctl: Devctl) -> None:
    looks += [LOADS]
    title, lab, *_ = devctl("top").stdout.splitlines()
    assert title.split()[:4] == ["NAME", "KIND", "PHASE", "AGE"]
    for said in ("0.5 of 4", "3Gi of 8Gi (38%)", "37% of 1", "40m", "in 20m"):
        assert said in lab
    looks += [LOADS]
    found = json.loads(devctl("top", "-o", "json").stdout)["items"]
    assert [each["name"] for each in found] == ["lab", "silent", "old", "my-job"]
    assert found[0]["cpu"] == {"used": 0.504, "limit": 4}
    assert found[1]["problems"] == ["silent-0: it does not answer within 5 s"]


@pytest.mark.usefixtures("looks")
def test_of_all_namespaces_and_in_an_order(devctl: Devctl, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def once(_top: object, where: object) -> list[Load]:
        asked.append(where)
        return LOADS

    monkeypatch.setattr(Top, "once", once)
    said = devctl("top", "-A", "--sort-by", "cpu").stdout.splitlines()
    assert said[0].split()[:2] == ["NAMESPACE", "NAME"]
    assert said[4].split()[:2] == ["dev-alice", "lab"], "the busiest is the last"
    assert asked == [EVERYWHERE]


def test_nothing_is_there(looks: list[Any], devctl: Devctl) -> None:
    looks += [[]]
    found = devctl("top")
    assert (found.code, found.stdout) == (0, "")
    assert found.stderr.startswith("no servers or jobs in namespace `dev-alice`")


def test_it_goes_on_until_ctrl_c_and_over_trouble(looks: list[Any], devctl: Devctl) -> None:
    looks += [LOADS, DevctlError("the API server is gone"), LOADS]
    found = devctl("top", "--watch")
    assert found.code == 130
    assert found.stdout.count("NAME  ") == 2
    assert found.stderr == "the API server is gone; trying again\n"


def test_a_terminal_shows_the_past(
    looks: list[Any], devctl: Devctl, terminal: Callable[..., tuple[Terminal, Terminal]]
) -> None:
    looks += [LOADS, LOADS]
    out, _ = terminal(180, 24)
    assert devctl("top", "-w").code == 130
    # A stream that does not say its encoding gets ASCII.
    assert ".." in out.getvalue().split("\x1b[H")[-1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("top -w -o json", "-o json shows one moment"),
        ("top -w --interval 0s", "--interval is too short"),
        ("top --sort-by nothing", "`nothing` is not a column"),
    ],
)
@pytest.mark.usefixtures("looks")
def test_errors(line: str, said: str, devctl: Devctl) -> None:
    found = devctl(*line.split())
    assert found.code == 2
    assert said in found.stderr
