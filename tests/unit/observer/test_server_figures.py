"""What is counted of servers: phases, waits, restarts and stops."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from devctl_observer.control.figures import REGISTRY
from devctl_observer.control.work_queue import WorkQueue
from devctl_observer.kinds.servers.figures import Servers
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.stops import stop
from devctl_observer.watching.store import Key
from hypothesis import given
from hypothesis import strategies as st

from devctl.api.devserver import Phase
from unit.observer.objects import NOW, flavor, made_from, server
from unit.observer.running import figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from devctl_observer.control.cluster_api import ClusterApi

KEY = Key("dev-alice", "my-dev")
LABELS = {"namespace": "dev-alice", "flavor": "cpu-small"}


def status(phase: str, reason: str = "", *restarts: int) -> dict[str, Any]:
    replicas = [{"ordinal": n, "restarts": count} for n, count in enumerate(restarts)]
    ready = {"type": "Ready", "status": "False", "reason": reason or phase}
    return {"phase": phase, "conditions": [ready], "replicaStatuses": replicas}


class Life:
    """One server whose status is noted at chosen times."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stored: dict[str, Any] = {}
        self.restart()

    def restart(self) -> None:
        """Let a new process of the observer take over."""
        self.servers = Servers(lambda: self.now)

    def at(self, seconds: float, phase: str, reason: str = "", *restarts: int) -> None:
        """Reconcile it, this long after its creation."""
        self.now = 1000 + seconds
        now = NOW + timedelta(seconds=seconds)
        created = NOW.isoformat()
        before = server(self.stored, {"creationTimestamp": created})
        self.stored = status(phase, reason, *restarts)
        self.servers.note(before, self.stored, "cpu-small", now)

    @property
    def waits(self) -> float | None:
        """For how long it has waited."""
        found = samples("devserver_waiting_seconds")
        return next(iter(found.values()), None)


def samples(name: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels.values()): sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == f"devctl_observer_{name}"
    }


class Measured:
    """What two histograms have seen since."""

    def __init__(self) -> None:
        self._before = self._now()

    @staticmethod
    def _now() -> list[float]:
        names = [f"devserver_{of}_duration_seconds" for of in ("start", "queue")]
        kinds = ("_count", "_sum")
        return [figure(f"{name}{kind}", flavor="cpu-small") for name in names for kind in kinds]

    def __call__(self) -> list[float]:
        """Starts and their seconds, admissions and their seconds."""
        return [now - before for now, before in zip(self._now(), self._before, strict=True)]


@pytest.fixture
def life() -> Iterator[Life]:
    made = Life()
    yield made
    made.servers.doing.clear()


@pytest.fixture
def measured() -> Measured:
    return Measured()


def test_a_start_is_measured_from_creation_to_ready(life: Life, measured: Measured) -> None:
    life.at(2, "Pending", "NotApplied")
    life.at(3, "Starting")
    assert life.waits == 3
    life.at(12, "Running", "Ready")
    life.at(99, "Running", "Ready")
    assert measured() == [1, 12, 0, 0]
    assert life.waits is None


def test_a_start_after_a_stop_is_measured_too(life: Life, measured: Measured) -> None:
    life.at(1, "Running", "Ready")
    life.at(50, "Stopping")
    life.at(60, "Stopped")
    assert life.waits is None
    life.at(500, "Pending", "NotApplied")
    life.at(510, "Running", "Ready")
    assert measured() == [2, 11, 0, 0]


def test_a_pod_that_is_replaced_is_not_a_start(life: Life, measured: Measured) -> None:
    life.at(1, "Running", "Ready")
    life.at(50, "Starting")
    life.at(52, "Starting")
    assert life.waits == 2
    life.at(60, "Running", "Ready")
    assert measured() == [1, 1, 0, 0]


def test_the_queue_is_measured_apart(life: Life, measured: Measured) -> None:
    life.at(1, "Pending", "NotApplied")
    life.at(2, "Pending", "Queued")
    life.at(30, "Pending", "Queued")
    assert samples("devserver_waiting_seconds") == {("dev-alice", "Pending", "Queued"): 30}
    life.at(42, "Starting", "Creating")
    assert measured() == [0, 0, 1, 40]
    life.at(43, "Running", "Ready")
    assert measured() == [1, 43, 1, 40]


def test_what_is_stopped_in_its_queue_was_never_admitted(life: Life, measured: Measured) -> None:
    life.at(1, "Pending", "Queued")
    life.at(30, "Stopped")
    life.at(40, "Pending", "Queued")
    life.at(41, "Starting")
    assert measured() == [0, 0, 1, 1]


def test_what_a_process_has_not_seen_begin_is_not_measured(life: Life, measured: Measured) -> None:
    life.at(1, "Pending", "Queued")
    life.restart()
    life.at(20, "Pending", "Queued")
    assert life.waits == 0
    life.at(25, "Starting")
    life.at(30, "Running", "Ready")
    assert measured() == [0, 0, 0, 0]


def test_a_creation_in_the_future_takes_no_time(life: Life, measured: Measured) -> None:
    life.at(-3600, "Pending", "NotApplied")
    life.at(-3590, "Running", "Ready")
    assert measured() == [1, 10, 0, 0]


def test_restarts_are_counted_once(life: Life) -> None:
    before = figure("devserver_restarts_total", flavor="cpu-small")
    for number, counts in enumerate([(0,), (2,), (2, 1), (0, 1), (1, 1), ()]):
        life.at(number, "Running", "Ready", *counts)
    assert figure("devserver_restarts_total", flavor="cpu-small") == before + 4


def test_what_is_gone_is_not_exported(life: Life) -> None:
    life.at(1, "Running", "Ready")
    assert samples("devservers") == {("dev-alice", "cpu-small", "Running"): 1}
    life.servers.forget(KEY)
    assert samples("devservers") == {}


NAMES = st.sampled_from("abc")


@given(st.lists(st.tuples(NAMES, NAMES, NAMES, st.sampled_from(Phase))))
def test_there_are_no_more_series_than_servers(looks: list[tuple[str, str, str, str]]) -> None:
    servers = Servers(lambda: 0.0)
    for namespace, name, of, phase in looks:
        meta = {"namespace": namespace, "name": name}
        servers.note(server({}, meta), status(phase), of, NOW)
    there = {look[:2] for look in looks}
    counted = samples("devservers")
    assert sum(counted.values()) == len(there)
    assert 0 not in counted.values()
    assert len(samples("devserver_waiting_seconds")) <= len(there)
    servers.doing.clear()


@pytest.mark.parametrize(
    ("spec", "annotations", "expected"),
    [
        ({}, {}, "cpu-small"),
        ({"flavor": "made-up"}, {}, ""),
        ({"flavor": None}, {}, ""),
        ({"flavor": "made-up"}, made_from(), "cpu-small"),
    ],
)
def test_no_flavor_is_exported_that_does_not_exist(
    spec: dict[str, Any], annotations: Mapping[str, str], expected: str
) -> None:
    seen = Observed(
        server(**spec), annotations=annotations, flavors={"cpu-small": flavor("cpu-small")}
    )
    assert seen.flavor == expected


def test_a_queue_says_how_long_it_keeps_objects_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("devctl_observer.control.work_queue.time.monotonic", lambda: now)
    queue = WorkQueue(lambda _: None)  # type: ignore[arg-type, return-value]
    assert queue.age == 0
    queue._queued |= {Key("", "a"): 90.0, Key("", "b"): 95.0}  # noqa: SLF001 - add() needs a loop
    assert queue.age == 10


@pytest.mark.parametrize(("taken", "expected"), [(True, 1), (False, 0)])
def test_a_stop_is_counted_if_it_was_of_that_version(taken: bool, expected: int) -> None:  # noqa: FBT001
    class Api:
        async def change(self, *_args: Any) -> bool:
            return taken

        async def tell(self, *_args: Any) -> None:
            pass

    before = figure("devserver_stops_total", reason="UserSuspended")
    asyncio.run(stop(cast("ClusterApi", Api()), server(), "alice"))
    assert figure("devserver_stops_total", reason="UserSuspended") == before + expected
