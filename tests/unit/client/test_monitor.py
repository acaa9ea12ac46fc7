"""What the replicas of a server use, from the kernel's numbers, and who is active on it."""

from __future__ import annotations

import doctest
import json
import math
import os
import subprocess
import threading
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devctl.client import monitor as module
from devctl.client.monitor import (
    COMMAND,
    Gpu,
    Monitor,
    Process,
    Usage,
    activity,
    judge,
    parse_usage,
)
from devctl.client.servers import Server
from devctl.client.streams import execute
from devctl.client.streams.execute import Executed
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError
from unit.client.objects import SERVERS, server
from unit.patience import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unit.client.fake_cluster import FakeApi

SCRIPT = Path(__file__).parents[3] / "roles" / "devserver" / "files" / "usage"

V2 = """\
page 4096
==> /proc/uptime <==
1000.50 4000.00

==> /proc/meminfo <==
MemTotal:        8388608 kB
MemFree:         1048576 kB

==> /sys/fs/cgroup/cpu.stat <==
usage_usec 2500000
user_usec 2000000

==> /sys/fs/cgroup/cpu.max <==
150000 100000

==> /sys/fs/cgroup/memory.current <==
3145728

==> /sys/fs/cgroup/memory.max <==
1073741824

==> /sys/fs/cgroup/memory.stat <==
anon 1048576
inactive_file 1048576

==> /proc/1/stat <==
1 (sleep) S 0 1 1 0 -1 4194560 1 0 0 0 10 20 0 0 20 0 1 0 5 2834432 256 18446744073709551615

==> /proc/42/stat <==
42 (py (th) 1) R 1 1 1 0 -1 4194560 1 0 0 0 1000 500 0 0 20 0 1 0 5 2834432 512 184467440737

==> /proc/50/stat <==
50 (sh) S 0 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 5 2834432 10 184467440737

==> /proc/51/stat <==
51 (head) R 50 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 5 2834432 10 184467440737

==> /proc/1/cmdline <==
sleep infinity
==> /proc/42/cmdline <==
python train.py ==> self <==
==> self <==
50
==> cpus <==
4
==> df <==
Filesystem     1024-blocks   Used Available Capacity Mounted on
/dev/a disk        1048576 262144    786432      25% /home/dev
==> gpus <==
0, 35, 1024, 16384, NVIDIA A100, 40GB
1, [N/A], [Not Supported], 16384, NVIDIA A100
trouble
"""
V1 = """\
==> /sys/fs/cgroup/cpuacct/cpuacct.usage <==
2500000000

==> /sys/fs/cgroup/cpu/cpu.cfs_quota_us <==
-1

==> /sys/fs/cgroup/cpu/cpu.cfs_period_us <==
100000

==> /sys/fs/cgroup/memory/memory.usage_in_bytes <==
3145728

==> /sys/fs/cgroup/memory/memory.limit_in_bytes <==
9223372036854771712

==> /sys/fs/cgroup/memory/memory.stat <==
total_inactive_file 1048576

==> /proc/meminfo <==
MemTotal:        8388608 kB
==> cpus <==
4
"""


@dataclass
class Replicas:
    """Replicas that use a second of processor time between looks, each as often as its number."""

    asked: list[tuple[str, int]] = field(default_factory=list)
    fails: dict[int, Exception | Executed] = field(default_factory=dict)
    looks: dict[int, int] = field(default_factory=dict)

    def __call__(
        self, name: str, argv: Sequence[str], *, replica: int = 0, is_activity: bool = True
    ) -> Executed:
        assert not is_activity
        assert tuple(argv) == COMMAND
        self.asked.append((name, replica))
        fails = self.fails.get(replica)
        if isinstance(fails, Exception):
            raise fails
        if fails:
            return fails
        look = self.looks[replica] = self.looks.get(replica, 0) + 1
        said = f"==> /proc/uptime <==\n{100 + 2 * look}.0 1.0\n\n"
        said += f"==> /sys/fs/cgroup/cpu.stat <==\nusage_usec {replica * look * 1_000_000}\n"
        return Executed(0, said.encode(), b"")


@pytest.fixture
def replicas() -> Replicas:
    return Replicas()


@pytest.fixture
def monitor(api: FakeApi, replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> Monitor:
    monkeypatch.setattr(module, "Execute", lambda _cluster: replicas)
    return Monitor(api.cluster())


def test_how_busy_each_replica_is_between_two_looks(
    api: FakeApi, monitor: Monitor, replicas: Replicas
) -> None:
    api.add(SERVERS, server("lab", replicas=3))
    slept: list[float] = []
    first, second = islice(monitor.watch("lab", 2.0, slept.append), 2)
    assert [sample.cpu for sample in first] == [None, None, None]
    assert [(sample.pod, sample.cpu) for sample in second] == [
        ("lab-0", 0.0),
        ("lab-1", 0.5),
        ("lab-2", 1.0),
    ]
    assert slept == [2.0]
    assert sorted(replicas.asked) == sorted([("lab", 0), ("lab", 1), ("lab", 2)] * 2)


def test_once_is_two_looks(api: FakeApi, monitor: Monitor) -> None:
    api.add(SERVERS, server())
    (sample,) = monitor.once("lab", 0.001)
    assert sample.cpu == 0.0
    assert json.loads(json.dumps(sample.document()))["cpu"] == {"used": 0.0, "limit": None}


def test_a_replica_that_cannot_be_looked_at_hides_no_other(
    api: FakeApi, monitor: Monitor, replicas: Replicas
) -> None:
    api.add(SERVERS, server("lab", replicas=3))
    replicas.fails = {
        0: DevctlError("replica 0 does not run", "wait"),
        1: Executed(127, b"", b"sh: not found"),
    }
    found = next(monitor.watch("lab"))
    assert [sample.problem.partition(":")[0] for sample in found] == [
        "replica 0 does not run",
        "its image has no shell, or an older release of devctl started it",
        "",
    ]
    assert found[0].document() == {
        "replica": 0,
        "pod": "lab-0",
        "problem": "replica 0 does not run",
    }
    assert list(found[0].top(3)) == []


@pytest.mark.parametrize("error", [DeniedError("no"), NotFoundError("gone")])
def test_rights_that_are_missing_are_told_as_such(
    api: FakeApi, monitor: Monitor, replicas: Replicas, error: Exception
) -> None:
    api.add(SERVERS, server())
    replicas.fails = {0: error}
    with pytest.raises(type(error)):
        monitor.once("lab")


def test_what_does_not_run_is_not_looked_at(api: FakeApi, monitor: Monitor) -> None:
    with pytest.raises(NotFoundError, match="there is no server `lab`"):
        monitor.once("lab")
    api.add(SERVERS, server("lab", "Stopped"))
    with pytest.raises(DevctlError, match="is stopped") as raised:
        monitor.once("lab")
    assert "devctl start lab" in raised.value.fix
    with pytest.raises(UsageError, match="0 s is not a time between samples"):
        monitor.once("lab", 0)


def usage(at: float, cpu: float, *processes: Process) -> Usage:
    return Usage(at=at, cpu_seconds=cpu, processes=processes)


def test_the_busiest_processes_come_first() -> None:
    before = usage(10, 5, Process(1, "a", 1, 10), Process(2, "b", 1, 20), Process(3, "c", 1, 30))
    now = usage(
        12,
        9,
        Process(1, "a", 5, 10),
        Process(2, "b", 1, 20),
        Process(3, "c", 1, 30),
        Process(4, "new", 9, 99),
    )
    sample = judge(0, "lab-0", now, before)
    assert sample.cpu == 2.0
    assert sample.busy == {1: 2.0, 2: 0.0, 3: 0.0}
    assert [process.command for process in sample.top(3)] == ["a", "new", "c"]
    found = sample.document()["processes"]
    assert [each["cpu"] for each in found] == [2.0, 0.0, 0.0, None]


def test_a_container_that_was_started_anew_is_not_less_than_idle() -> None:
    sample = judge(
        0, "lab-0", usage(12, 1, Process(1, "a", 0, 1)), usage(10, 99, Process(1, "a", 9, 1))
    )
    assert (sample.cpu, sample.busy) == (0.0, {1: 0.0})
    assert judge(0, "lab-0", usage(1, 1), usage(10, 99)).cpu is None


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


def test_numbers_of_cgroup_version_2() -> None:
    found = parse_usage(V2.encode())
    assert (found.at, found.cpu_seconds, found.cpus) == (1000.5, 2.5, 1.5)
    assert (found.memory, found.memory_size) == (2 << 20, 1 << 30)
    assert (found.home, found.home_size) == (256 << 20, 1 << 30)


def test_numbers_of_cgroup_version_1() -> None:
    found = parse_usage(V1.encode())
    assert (found.cpu_seconds, found.cpus) == (2.5, 4.0)
    assert (found.memory, found.memory_size) == (2 << 20, 8 << 30)
    assert (found.at, found.home) == (None, None)


def test_without_a_limit_all_of_the_machine_may_be_used() -> None:
    text = V2.replace("150000 100000", "max 100000").replace("1073741824", "max")
    found = parse_usage(text.encode())
    assert (found.cpus, found.memory_size) == (4.0, 8 << 30)


def test_gpus() -> None:
    assert parse_usage(V2.encode()).gpus == [
        Gpu(0, "NVIDIA A100, 40GB", 35, 1 << 30, 16 << 30),
        Gpu(1, "NVIDIA A100", None, None, 16 << 30),
    ]


def test_processes_without_those_of_the_script() -> None:
    assert parse_usage(V2.encode()).processes == [
        Process(1, "sleep infinity", 0.3, 1 << 20),
        Process(42, "python train.py ==> self <==", 15.0, 2 << 20),
    ]


@pytest.mark.parametrize(
    ("said", "memory"),
    [
        ("65536", 512 << 16),
        ("16384", 512 << 14),
        ("KernelPageSize:       64 kB", 512 << 16),
        ("", None),
        ("4095", None),
        ("0", None),
        ("99999999999999999", None),
        ("KernelPageSize: x kB", None),
    ],
)
def test_a_page_is_as_large_as_the_machine_says(said: str, memory: int | None) -> None:
    text = V2.replace("page 4096", f"page {said}")
    assert parse_usage(text.encode()).processes[1].memory == memory


@pytest.mark.parametrize("getconf", ["echo 65536", "exit 127"])
def test_a_machine_is_asked_how_large_a_page_is(getconf: str, tmp_path: Path) -> None:
    (tmp_path / "getconf").write_text(f"#!/bin/sh\n{getconf}\n")
    (tmp_path / "getconf").chmod(0o755)
    script = COMMAND[-1].replace("/opt/devctl/usage", "/dev/null")
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    said = subprocess.run(["sh", "-c", script], env=env, capture_output=True, check=True).stdout
    page = 65536 if "echo" in getconf else os.sysconf("SC_PAGE_SIZE")
    assert module._page(said.decode()) == page  # noqa: SLF001 - what follows is the other script's


def test_the_shell_above_a_command_is_not_shown() -> None:
    shell = (
        "/bin/sh",
        "-c",
        execute.SCRIPT,
        "devctl",
        "0123",
        "no",
        "no",
        "sh",
        "/opt/devctl/usage",
    )
    line = " ".join(shell)[:200]
    stat = "49 (sh) S 0 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 5 2834432 10 1"
    more = f"==> /proc/49/stat <==\n{stat}\n==> /proc/49/cmdline <==\n{line}\n"
    text = V2.replace("==> self <==\n50", f"{more}==> self <==\n50")
    assert [process.pid for process in parse_usage(text.encode()).processes] == [1, 42]


def test_a_process_fakes_no_numbers() -> None:
    fake = "==> /proc/66/cmdline <==\n==> /proc/uptime <==\n1.0 1.0\n==> cpus <==\n99\n"
    found = parse_usage(V2.replace("==> self <==\n50", f"{fake}==> self <==\n50").encode())
    assert found.at == 1000.5


@pytest.mark.parametrize("said", [b"", b"\xff\xfe", b"==> df <==\nx\n", b"==> /proc/1/stat <==\n1"])
def test_what_is_no_number_is_nothing(said: bytes) -> None:
    assert parse_usage(said) == Usage(gpus=[], processes=[])


@given(st.binary(max_size=200), st.integers(min_value=0, max_value=len(V2)))
def test_whatever_a_pod_prints_figures_are_unknown_or_possible(noise: bytes, where: int) -> None:
    text = V2.encode()
    for said in (text[:where] + noise + text[where:], text[:where]):
        found = parse_usage(said)
        sizes = (found.memory, found.memory_size, found.home, found.home_size)
        times = (found.at, found.cpu_seconds, found.cpus)
        assert all(figure is None or 0 <= figure < math.inf for figure in (*sizes, *times))
        assert all(process.cpu_seconds >= 0 for process in found.processes)
        assert len({process.pid for process in found.processes}) == len(found.processes)


@given(st.binary(max_size=200))
def test_what_a_pod_prints_at_the_end_changes_no_figure(noise: bytes) -> None:
    whole, more = (parse_usage(V2.encode() + after) for after in (b"", b"\n==> x <==\n" + noise))
    for name in ("at", "cpu_seconds", "cpus", "memory", "memory_size", "home", "home_size"):
        assert getattr(more, name) == getattr(whole, name) is not None, name


def test_the_script_prints_what_is_read() -> None:
    argv = [word.replace("/opt/devctl/usage", str(SCRIPT)) for word in COMMAND]
    said = subprocess.run(argv, capture_output=True, check=True).stdout
    found = parse_usage(said)
    assert found.at
    assert found.cpus
    assert found.memory_size
    assert found.processes
    page = os.sysconf("SC_PAGE_SIZE")
    own = int(Path("/proc/self/statm").read_text().split()[1]) * page
    memory = next(each.memory for each in found.processes if each.pid == os.getpid())
    assert memory == pytest.approx(own, rel=0.5)
    assert not [each for each in found.processes if str(SCRIPT) in each.command]


COMMANDS = ["sshd-session: dev [priv]", "/usr/sbin/sshd -i", "tmux: server", "python train.py"]


def client(runs: Any, samples: Any) -> Any:
    """A client of which these two parts are asked."""
    return SimpleNamespace(runs=SimpleNamespace(list=runs), monitor=SimpleNamespace(watch=samples))


def runs(_server: str) -> list[Any]:
    return [
        SimpleNamespace(name="train-1", state="Running"),
        SimpleNamespace(name="train-0", state="Failed"),
    ]


def samples(_server: str) -> Any:
    used = SimpleNamespace(processes=[SimpleNamespace(command=command) for command in COMMANDS])
    return iter([[SimpleNamespace(usage=used), SimpleNamespace(usage=None)]])


def refuses(_server: str) -> Any:
    raise DevctlError("no pod answers")


class Hangs:
    """A part that does not answer until the test is over."""

    def __init__(self) -> None:
        self.asked, self.over = threading.Event(), threading.Event()

    def __call__(self, _server: str) -> Any:
        self.asked.set()
        self.over.wait(PATIENCE)
        raise DevctlError("the test is over")


@pytest.fixture
def hangs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hangs]:
    """Such a part; only it is given up, however slow this machine is."""
    part = Hangs()

    class Look(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            if timeout == 0.5:
                eventually(lambda: part.asked.is_set() or not self.is_alive())
            else:
                super().join(timeout)

    monkeypatch.setattr(module, "threading", SimpleNamespace(Thread=Look))
    yield part
    part.over.set()


LAB = Server(server("lab"))


@pytest.mark.parametrize(
    ("listed", "looked", "found"),
    [
        (runs, samples, ["run train-1", "2 SSH sessions", "1 tmux session"]),
        (refuses, samples, ["2 SSH sessions", "1 tmux session"]),
        (runs, refuses, ["run train-1"]),
        (runs, None, ["run train-1"]),
        (None, samples, []),
    ],
)
def test_runs_and_sessions_are_named_as_far_as_they_are_known(
    listed: Any, looked: Any, found: list[str], hangs: Hangs
) -> None:
    assert activity(client(listed or hangs, looked or hangs), LAB, 0.5) == found


def test_a_server_that_is_not_ready_is_not_asked(hangs: Hangs) -> None:
    assert activity(client(hangs, hangs), Server(server("lab", "Failed"))) == []
