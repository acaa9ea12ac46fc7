"""What all servers and jobs use."""

from __future__ import annotations

import json
import threading
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from devctl.client import top as module
from devctl.client.load import Load
from devctl.client.monitor import Gpu, Sample, Usage
from devctl.client.servers import Server
from devctl.client.streams.execute import Executed
from devctl.client.top import Top
from devctl.client.waiting import OnEvery
from devctl.errors import ConnectionLostError, DeniedError, UsageError
from devctl.kube.cluster import EVERYWHERE
from unit.client.job_things import JOBS, job
from unit.client.objects import SERVERS, ago, server
from unit.patience import PATIENCE, eventually

if TYPE_CHECKING:
    from unit.client.fake_cluster import FakeApi


class Pods:
    """Pods that print their figures; each look finds them busier."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.fails: dict[str, Exception] = {}
        self.hangs: dict[str, threading.Event] = {}
        self.hanging: list[threading.Thread] = []

    def __call__(
        self, _cluster: object, pod: str, namespace: str, _argv: object, *, is_activity: bool
    ) -> Executed:
        assert not is_activity
        self.asked.append((namespace, pod))
        if pod in self.fails:
            raise self.fails[pod]
        if pod in self.hangs:
            self.hanging.append(threading.current_thread())
            self.hangs[pod].wait(PATIENCE)
        look = self.asked.count((namespace, pod))
        said = f"==> /proc/uptime <==\n{100 + 2 * look}.0 1.0\n\n"
        said += f"==> /sys/fs/cgroup/cpu.stat <==\nusage_usec {look * 1_000_000}\n"
        said += "==> /sys/fs/cgroup/cpu.max <==\n200000 100000\n"
        return Executed(0, said.encode(), b"")


@pytest.fixture
def pods(monkeypatch: pytest.MonkeyPatch) -> Pods:
    found = Pods()
    monkeypatch.setattr(module, "execute_in", found)
    return found


@pytest.fixture
def top(api: FakeApi) -> Top:
    return Top(api.cluster())


def test_servers_and_jobs_by_name(api: FakeApi, top: Top, pods: Pods) -> None:
    api.add(SERVERS, server("b", replicas=2), server("a", "Stopped"))
    api.add(JOBS, job("work", "Running"), job("done", "Succeeded"))
    slept: list[float] = []
    first, second = islice(top.watch(seconds=2.0, sleep=slept.append), 2)
    assert [(load.kind, load.name) for load in second] == [
        ("server", "a"),
        ("server", "b"),
        ("job", "work"),
    ]
    assert [load.cpu for load in first] == [None] * 3
    assert [load.cpu for load in second] == [None, 1.0, None]
    assert [load.cpus for load in second] == [None, 4.0, None]
    assert slept == [2.0]
    assert sorted(pods.asked) == sorted([("dev-alice", "b-0"), ("dev-alice", "b-1")] * 2)


def test_once_looks_twice_where_something_runs(api: FakeApi, top: Top, pods: Pods) -> None:
    assert list(top.once(seconds=0.001)) == []
    api.add(SERVERS, server("a", "Stopped"))
    assert [load.cpu for load in top.once(seconds=60)] == [None]
    assert not pods.asked
    api.add(SERVERS, server("b"))
    assert [load.cpu for load in top.once(seconds=0.001)] == [None, 0.5]


def test_only_replicas_that_run_are_asked(api: FakeApi, top: Top, pods: Pods) -> None:
    found = server("lab", "Starting", replicas=2)
    found["status"]["replicaStatuses"][1]["phase"] = "Running"
    api.add(SERVERS, found)
    (load,) = next(top.watch())
    assert pods.asked == [("dev-alice", "lab-1")]
    assert [sample.replica for sample in load.samples] == [1]


def test_servers_of_all_namespaces_are_asked_where_they_are(
    api: FakeApi, top: Top, pods: Pods
) -> None:
    other = server("lab")
    other["metadata"]["namespace"] = "dev-bob"
    api.add(SERVERS, server("lab"), other)
    loads = next(top.watch(EVERYWHERE))
    assert [load.namespace for load in loads] == ["dev-alice", "dev-bob"]
    assert sorted(pods.asked) == [("dev-alice", "lab-0"), ("dev-bob", "lab-0")]


def test_a_replica_that_does_not_answer_delays_no_other(
    api: FakeApi, top: Top, pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Look(OnEvery[Any]):
        """Gives up who hangs, and nobody else, however slow this machine is."""

        def wait(self, seconds: float | None = None) -> None:
            assert seconds == 5
            eventually(lambda: all(t in pods.hanging or not t.is_alive() for t in self._threads))

    monkeypatch.setattr(module, "OnEvery", Look)
    api.add(SERVERS, server("lab", replicas=3), server("other"))
    pods.hangs["lab-1"] = threading.Event()
    pods.fails["lab-2"] = ConnectionLostError("the connection was lost")
    looks = top.watch(sleep=lambda _seconds: None)
    next(looks)
    lab, other = next(looks)
    assert lab.problems == [
        "lab-1: it does not answer within 5 s",
        "lab-2: the connection was lost",
    ]
    assert (lab.cpu, other.cpu, other.problems) == (0.5, 0.5, [])
    assert pods.asked.count(("dev-alice", "lab-1")) == 1, "it is still being asked"
    pods.hangs.pop("lab-1").set()
    pods.fails.clear()
    eventually(lambda: not next(looks)[0].problems)


def test_a_pod_that_may_not_be_looked_at_is_a_problem_of_its_server(
    api: FakeApi, top: Top, pods: Pods
) -> None:
    api.add(SERVERS, server("lab"))
    pods.fails["lab-0"] = DeniedError("you may not run commands in it")
    (load,) = next(top.watch())
    assert load.problems == ["lab-0: you may not run commands in it"]


def test_an_error_of_ours_is_not_hidden(api: FakeApi, top: Top, pods: Pods) -> None:
    api.add(SERVERS, server("lab"))
    pods.fails["lab-0"] = ValueError("a bug")
    with pytest.raises(ValueError, match="a bug"):
        next(top.watch())


@pytest.mark.usefixtures("pods")
def test_who_may_not_see_jobs_sees_servers(api: FakeApi, top: Top) -> None:
    api.add(SERVERS, server("lab"))
    api.refusals["GET", JOBS] = (403, "no")
    assert [load.name for load in next(top.watch())] == ["lab"]
    api.refusals["GET", SERVERS] = (403, "no")
    with pytest.raises(DeniedError, match=r"^no$"):
        next(top.watch())


def test_no_time_between_looks_is_an_error(top: Top) -> None:
    with pytest.raises(UsageError, match="0 s is not a time between looks"):
        next(top.watch(seconds=0))


def test_the_whole_is_the_sum_of_what_is_known() -> None:
    gpus = [Gpu(0, "T4", 90, 8, 16), Gpu(1, "T4", None, None, 16)]
    found = Server(
        server(
            "lab",
            replicas=3,
            requests={"nvidia.com/gpu": "1", "canhazgpu.com/gpu": 1},
            idle={"since": ago(hours=1)},
        )
    )
    usage = Usage(cpus=2, memory=100, memory_size=400, gpus=gpus)
    samples = [
        Sample(0, "lab-0", usage, 1.5),
        Sample(1, "lab-1", Usage(cpus=2, gpus=[Gpu(0, "T4", 30, 4, 16)])),
        Sample(2, "lab-2", problem="it does not answer"),
    ]
    load = Load(found, samples)
    assert (load.cpu, load.cpus, load.memory, load.memory_size) == (1.5, 4, 100, 400)
    assert (load.gpus, load.gpu_percent, load.gpu_memory, load.gpu_memory_size) == (6, 60, 12, 48)
    said = json.loads(json.dumps(load.document()))
    assert said["gpus"] == {"requested": 6, "percent": 60, "memory": {"used": 12, "size": 48}}
    assert said["idleSince"] == "2026-01-02T11:00:00+00:00"
    assert said["problems"] == ["lab-2: it does not answer"]


def test_nothing_is_known_of_what_is_not_measured() -> None:
    load = Load(Server(server("lab")), [Sample(0, "lab-0", problem="no")])
    assert {load.cpu, load.cpus, load.memory, load.gpu_percent, load.gpu_memory} == {None}
    assert load.gpus == 0
