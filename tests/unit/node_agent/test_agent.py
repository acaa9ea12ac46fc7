"""The loop, in a time of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devctl_node_agent.agent import Agent
from devctl_node_agent.api import ReportError
from devctl_node_agent.notices import Notices
from devctl_node_agent.processes import Io
from devctl_node_agent.sample import Counters, Place, Sample
from devctl_node_agent.schedule import Answer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class World:
    """A clock, pods, and an API server, which all do what a test wants."""

    def __init__(self) -> None:
        self.now = 0.0
        self.working: dict[str, tuple[str, ...]] = {"a": ()}
        self.spec: dict[str, Any] = {}
        self.failure: ReportError | None = None
        self.looks: list[float] = []
        self.reports: list[tuple[float, dict[str, Any]]] = []
        self.tried: list[float] = []
        self.place: Place | None = Place(7, 700, frozenset({0, 3}))
        self.shown: list[tuple[int, str]] = []
        self.agent = Agent(
            "node-1",
            "run-1",
            sampler=self,
            api=self,
            notices=Notices(self.show),
            clock=lambda: self.now,
            random=lambda: 1.0,
        )

    def look(self, now: float) -> Mapping[str, Sample]:
        self.looks.append(now)
        quiet = Counters(now, 1.0, 1, 1, {(1, 1): Io(0, 0, 0)})
        return {
            uid: Sample(quiet, working=names, place=self.place)
            for uid, names in self.working.items()
        }

    def show(self, place: Place, numbers: Collection[int], line: bytes) -> set[int]:
        assert place is self.place
        self.shown += [(number, line.decode().strip()) for number in numbers]
        return set(numbers)

    def report(self, node: str, status: Mapping[str, Any]) -> Any:
        assert node == "node-1"
        self.tried.append(self.now)
        if self.failure:
            raise self.failure
        self.reports.append((self.now, dict(status)))
        return {"spec": self.spec}

    def run(self, until: float) -> None:
        for _ in range(10_000):
            pause = self.agent.step()
            if self.now + pause > until:
                return
            assert pause > 0
            self.now += pause
        raise AssertionError("the agent never sleeps")

    def ages(self, uid: str = "a") -> list[tuple[int, int]]:
        """Of each report, the time and the age."""
        return [
            (round(at), pod["idleSeconds"])
            for at, status in self.reports
            for pod in status["pods"]
            if pod["uid"] == uid
        ]


def test_it_looks_every_ten_seconds_and_reports_every_minute() -> None:
    world = World()
    world.run(200)
    assert world.ages() == [(0, 0), (60, 60), (120, 120), (180, 180)]
    assert [status["sequence"] for _, status in world.reports] == [1, 2, 3, 4]
    assert {status["instance"] for _, status in world.reports} == {"run-1"}
    gaps = [later - earlier for earlier, later in zip(world.looks, world.looks[1:], strict=False)]
    assert max(gaps) <= 10.1
    assert world.agent.is_ready


def test_activity_is_reported_within_a_look() -> None:
    world = World()
    world.run(100)
    world.working["a"] = ("python (pid 7)",)
    world.run(125)
    at, age = world.ages()[-1]
    assert at <= 111
    assert age == 0


def test_wanted_ages_are_reported_on_the_second_with_a_fresh_look() -> None:
    world = World()
    world.spec = {"pods": [{"uid": "a", "reportAt": [95, 104]}]}
    world.run(130)
    assert world.ages()[:7] == [
        (0, 0),
        (60, 60),
        (95, 95),
        (100, 100),
        (104, 104),
        (109, 109),
    ]
    assert all(any(abs(at - look) < 0.01 for look in world.looks) for at, _ in world.reports)


def test_pods_that_come_and_go_are_reported() -> None:
    world = World()
    world.run(30)
    world.working["b"] = ()
    world.run(50)
    assert world.reports[-1][1]["pods"][1]["uid"] == "b"
    world.working = {}
    world.run(70)
    assert world.reports[-1][1]["pods"] == []


def test_ages_go_on_while_the_api_server_is_away() -> None:
    world = World()
    world.run(30)
    world.failure = ReportError("ConnectionRefusedError: no")
    world.run(600)
    assert world.ages() == [(0, 0)]
    gaps = [later - earlier for earlier, later in zip(world.tried, world.tried[1:], strict=False)]
    assert max(gaps) <= 61
    world.failure = None
    world.run(700)
    at, age = world.ages()[1]
    assert at == age > 600


def test_an_object_that_does_not_exist_yet_is_tried_every_ten_seconds() -> None:
    world = World()
    world.failure = ReportError("not yet", Answer.ABSENT)
    world.run(65)
    assert [round(at) for at in world.tried] == [0, 10, 20, 30, 40, 50, 60]
    assert world.agent.is_ready


def test_a_refused_agent_is_not_ready() -> None:
    world = World()
    world.failure = ReportError("HTTP 403: no")
    world.run(65)
    assert not world.agent.is_ready


def test_an_agent_that_stood_still_knows_nothing_of_that_time() -> None:
    world = World()
    world.run(100)
    world.now += 300
    world.run(world.now)
    (pod,) = world.reports[-1][1]["pods"]
    assert pod["idleSeconds"] == 0
    assert all(signal["unknown"] for signal in pod["signals"])


def test_a_new_agent_starts_at_zero() -> None:
    world = World()
    world.now = 5000.0
    world.run(5000.0)
    again = World()
    again.now = 9000.0
    again.run(9000.0)
    assert again.ages() == [(9000, 0)]


def noticed(text: str | None) -> dict[str, Any]:
    return {"pods": [{"uid": "a", "notice": text} if text else {"uid": "a"}]}


def test_each_notice_is_shown_once_on_each_terminal() -> None:
    world = World()
    world.run(30)
    assert world.shown == []
    world.spec = noticed("stopped at 14:30")
    world.run(200)
    assert world.shown == [(0, "stopped at 14:30"), (3, "stopped at 14:30")]
    world.place = Place(7, 700, frozenset({3, 4}))
    world.run(300)
    assert world.shown[2:] == [(4, "stopped at 14:30")]
    world.spec = noticed("stopped at 15:30")
    world.run(400)
    assert world.shown[3:] == [(3, "stopped at 15:30"), (4, "stopped at 15:30")]
    # Taken back, and given again.
    world.spec = noticed(None)
    world.run(500)
    world.spec = noticed("stopped at 15:30")
    world.run(600)
    assert len(world.shown) == 7
    world.place = None
    world.spec = noticed("stopped at 16:30")
    world.run(700)
    assert len(world.shown) == 7


def test_a_notice_is_fetched_right_after_it_was_caused() -> None:
    world = World()
    world.spec = {"pods": [{"uid": "a", "reportAt": [95]}]}
    world.run(96)
    world.spec = noticed("stopped at 14:30")
    world.run(101)
    assert [number for number, _ in world.shown] == [0, 3]
