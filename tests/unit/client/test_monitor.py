"""What the replicas of a server use: looked at together, compared with the look before."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from devctl.client.monitor import Monitor, judge
from devctl.client.streams.execute import Executed
from devctl.client.usage import COMMAND, Process, Usage
from devctl.errors import DeniedError, DevctlError, NotFoundError, UsageError
from unit.client.objects import SERVERS, server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unit.client.fake_cluster import FakeApi


@dataclass
class Replicas:
    """Replicas that use a second of processor time between looks, each as often as its number."""

    asked: list[tuple[str, int]] = field(default_factory=list)
    fails: dict[int, Exception | Executed] = field(default_factory=dict)
    looks: dict[int, int] = field(default_factory=dict)

    def __call__(self, name: str, argv: Sequence[str], *, replica: int = 0) -> Executed:
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
def monitor(api: FakeApi, replicas: Replicas) -> Monitor:
    execute: Any = replicas
    return Monitor(api.cluster(), execute)


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
        "its image has no shell, or it was started before devctl could look into it",
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
    with pytest.raises(NotFoundError):
        monitor.once("lab")
    api.add(SERVERS, server("lab", "Stopped"))
    with pytest.raises(DevctlError, match="is stopped") as raised:
        monitor.once("lab")
    assert "devctl start lab" in raised.value.fix
    with pytest.raises(UsageError):
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
