"""`devctl monitor`, and what is looked at again and again."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from devctl.cli.graphs import History
from devctl.cli.live import follow, polled
from devctl.cli.monitor_screen import picture, shares
from devctl.client.monitor import Gpu, Monitor, Process, Sample, Usage
from devctl.errors import DevctlError, NotFoundError
from unit.client.objects import FLAVORS, SERVERS, flavor, server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unit.cli.conftest import Devctl, Terminal
    from unit.client.fake_cluster import FakeApi

USAGE = Usage(
    at=10,
    cpu_seconds=3,
    cpus=2,
    memory=300 * 1024**2,
    memory_size=1024**3,
    home=5 * 1024**2,
    home_size=100 * 1024**3,
    gpus=[Gpu(0, "Tesla T4", 97, 8 * 1024**3, 15 * 1024**3)],
    processes=[
        Process(7, "python train.py --name \x1b[31m", 2, 200 * 1024**2),
        Process(1, "sh", 0, 1024),
    ],
)
SAMPLES = [
    Sample(0, "lab-0", USAGE, 0.504, {7: 0.5}),
    Sample(1, "lab-1", Usage()),
    Sample(2, "lab-2", problem="it does not answer"),
]


@pytest.fixture
def looks(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is seen, look by look; then Ctrl-C."""
    api.add(SERVERS, server("lab"))
    found: list[Any] = []

    def watch(*_args: object, **_options: object) -> Iterator[Any]:
        while found:
            seen = found.pop(0)
            if isinstance(seen, BaseException):
                raise seen
            yield seen
        raise KeyboardInterrupt

    monkeypatch.setattr(Monitor, "watch", watch)
    monkeypatch.setattr("devctl.cli.live.time", SimpleNamespace(sleep=lambda _seconds: None))
    return found


@pytest.mark.parametrize(("width", "whole"), [(0, True), (60, True), (40, False)])
def test_the_picture_has_replicas_gpus_and_processes(width: int, *, whole: bool) -> None:
    lines = picture(SAMPLES, width)
    replicas, gpus, processes, note = "\n".join(lines).split("\n\n")
    title, first, *unknown = replicas.splitlines()
    assert title.split() == ["POD", "CPU", "MEMORY", "HOME"]
    assert first.startswith("lab-0  0.5 of 2  300Mi of ")
    assert [line.split() for line in unknown] == [[f"lab-{n}", "?", "?", "?"] for n in (1, 2)]
    title, gpu = gpus.splitlines()
    assert title.split() == ["POD", "GPU", "BUSY", "MEMORY", "NAME"]
    assert gpu.startswith("lab-0  0    97%   8Gi of 15Gi")
    assert gpu.endswith("  Tesla T4")
    for text, where in (("(29%)", first), ("5Mi of 100Gi (0%)", first), ("(53%)", gpu)):
        assert (text in where) is whole
    title, *rows = processes.splitlines()
    # Without room, a command has a line of its own. The busiest is first.
    command = "COMMAND" if whole else ""
    assert title.split() == ["POD", "PID", "CPU", "MEMORY", *command.split()]
    assert [row.split() for row in " ".join(rows).split("lab-0")[1:]] == [
        ["7", "0.5", "200Mi", "python", "train.py", "--name", r"\x1b[31m"],
        ["1", "?", "1Ki", "sh"],
    ]
    assert len(rows) == (2 if whole else 4)
    assert note == "lab-2 cannot be read: it does not answer"
    assert all(line.isprintable() for line in lines)
    assert not width or max(map(len, lines)) <= width


@pytest.mark.parametrize(("width", "drawn"), [(0, False), (40, False), (120, True)])
def test_a_picture_that_goes_on_shows_the_past(width: int, *, drawn: bool) -> None:
    history = History()
    for _ in range(3):
        history.note(shares(SAMPLES))
    titles, first, *rest = picture(SAMPLES, width, 5, history)
    gpus = rest[rest.index("") + 2]
    # A quarter of the CPU and 29 % of the memory; all of the GPU and half of its memory.
    assert (["▃▃▃" in first, "███" in gpus, "▅▅▅" in gpus]) == [drawn] * 3
    assert titles.startswith("POD")
    assert not width or max(map(len, (titles, first, *rest))) <= width


@pytest.mark.parametrize(("used", "said"), [(95, False), (96, True), (100, True)])
def test_a_home_that_is_nearly_full_is_pointed_out(used: int, *, said: bool) -> None:
    lines = picture([Sample(0, "lab-0", Usage(home=used, home_size=100))], 40)
    assert ("the home of lab-0 is nearly full: free" in lines) is said
    assert max(map(len, lines)) <= 40


def test_once(looks: list[Any], devctl: Devctl) -> None:
    looks += [SAMPLES, SAMPLES]
    assert devctl("monitor", "lab", "--once").stdout.startswith("POD")
    looks += [SAMPLES, SAMPLES]
    found = json.loads(devctl("monitor", "lab", "--once", "-o", "json").stdout)
    assert found["server"] == "lab"
    assert [each["replica"] for each in found["replicas"]] == [0, 1, 2]
    assert found["replicas"][0]["memory"] == {"used": 300 * 1024**2, "limit": 1024**3}


def test_it_goes_on_until_ctrl_c_and_over_trouble(looks: list[Any], devctl: Devctl) -> None:
    looks += [SAMPLES, DevctlError("the API server is gone"), SAMPLES]
    found = devctl("monitor", "lab", "--processes", "0")
    assert found.code == 130
    assert found.stdout.count("POD  ") == 4
    assert found.stderr == "the API server is gone; trying again\n"


@pytest.mark.parametrize(
    ("seen", "code"), [([DevctlError("gone")], 1), ([SAMPLES, NotFoundError("deleted")], 3)]
)
def test_what_cannot_go_on_ends(
    seen: list[Any], code: int, looks: list[Any], devctl: Devctl
) -> None:
    looks += seen
    assert devctl("monitor", "lab").code == code


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("monitor lab -o json", "-o json needs --once"),
        ("monitor lab --interval 0s", "--interval is too short"),
        ("monitor lab --processes -1", "-1 is not in the range"),
    ],
)
@pytest.mark.usefixtures("looks")
def test_errors(line: str, said: str, devctl: Devctl) -> None:
    found = devctl(*line.split())
    assert (found.code, len(found.stderr.splitlines())) == (2, 2)
    assert said in found.stderr


def test_a_picture_is_drawn_over_and_its_last_state_stays(
    terminal: Callable[..., tuple[Terminal, Terminal]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Iterator[int | DevctlError] = iter([1, 2, DevctlError("it is gone"), 3])

    def look() -> list[int]:
        found = next(seen, None)
        if found is None:
            raise KeyboardInterrupt
        if isinstance(found, DevctlError):
            raise found
        return [found]

    out, _ = terminal(20, 5)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    looked = polled(lambda: iter(look, [0]), 1)
    with pytest.raises(KeyboardInterrupt):
        follow(looked, lambda n, width: [f"{n[0]} of {width}"] * 9, lambda *_: [])
    first, *pages = out.getvalue().split("\x1b[H")
    assert first == "\x1b[?1049h\x1b[?25l"
    assert pages[0] == "1 of 20\x1b[K\n" * 3 + "\x1b[K\n\x1b[J"
    assert "it is gone; trying …\x1b[K" in pages[2]
    assert pages[3].endswith("\x1b[?25h\x1b[?1049l" + "3 of 20\n" * 9)


def test_a_watch_of_flavors_prints_what_is_new(
    api: FakeApi, devctl: Devctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.add(FLAVORS, flavor() | {"status": {"free": 0, "total": 0}})
    naps = iter(range(3))

    def sleep(_seconds: float) -> None:
        if next(naps, None) is None:
            raise KeyboardInterrupt

    # The module's own name for time: other threads sleep meanwhile, and these are no looks.
    monkeypatch.setattr("devctl.cli.live.time", SimpleNamespace(sleep=sleep))
    assert devctl("flavors", "--watch") == (130, "cpu-small: 0 of 0 free\n", "")
