"""What is exported of what servers occupy, of their idleness, and of the nodes' agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from devctl_observer.kinds.activity import figures as agents
from devctl_observer.kinds.activity.reports import Reports
from devctl_observer.kinds.servers.figures import Doing, Exported, Servers
from devctl_observer.kinds.servers.observed import Observed
from devctl_observer.kinds.servers.use_figures import Uses
from devctl_observer.watching.store import Key

from devctl.api.idleness import Idleness
from devctl.api.labels import MADE_FROM
from devctl.api.made_from import MadeFrom
from unit.observer.activity import Steady, about, activity
from unit.observer.objects import distributed, made_from, server
from unit.observer.running import figure
from unit.observer.test_server_figures import samples

if TYPE_CHECKING:
    from collections.abc import Iterator

LAB, TRAINING = Key("dev-alice", "lab"), Key("dev-bob", "training")
GPUS = {"resources": {"limits": {"cpu": "8", "nvidia.com/gpu": "4"}}}


class Day:
    """Servers whose statuses are noted at chosen times."""

    def __init__(self) -> None:
        self.steady = Steady()
        self.uses = Uses(self.steady)

    def note(
        self,
        verdict: Idleness | None,
        key: Key = LAB,
        *,
        judged: Idleness | None = Idleness.ACTIVE,
        phase: str = "Running",
        gpus: int = 0,
    ) -> None:
        """Reconcile a server; `verdict` is what its status says then."""
        idle = "True" if verdict in {Idleness.IDLE, Idleness.HELD} else "False"
        said = [{"type": "Idle", "status": idle, "reason": str(verdict)}] if verdict else []
        status = {"phase": phase, "conditions": said}
        self.uses.note(key, status, "gpu" if gpus else "cpu", gpus, judged)

    def age(self, verdict: Idleness) -> float:
        return figure("idle_verdict_age_seconds", verdict=verdict)


@pytest.fixture
def day() -> Iterator[Day]:
    made = Day()
    yield made
    made.uses.known.clear()


def test_gpus_count_while_their_server_runs(day: Day) -> None:
    day.note(None, gpus=8, phase="Starting")
    assert samples("devserver_gpus") == {("gpu",): 0}
    day.note(None, gpus=8)
    day.note(None, TRAINING)
    assert samples("devserver_gpus") == {("gpu",): 8, ("cpu",): 0}
    day.uses.forget(LAB)
    assert samples("devserver_gpus") == {("cpu",): 0}


def test_an_idle_server_and_its_gpus(day: Day) -> None:
    day.note(Idleness.IDLE, gpus=4)
    day.note(Idleness.HELD, Key("dev-bob", "held"), gpus=2)
    day.note(Idleness.SOON, Key("dev-bob", "soon"), gpus=1)
    day.note(Idleness.ACTIVE, TRAINING)
    assert samples("idle_servers") == {("gpu",): 2, ("cpu",): 0}
    assert samples("idle_gpus") == {("gpu",): 6, ("cpu",): 0}
    assert samples("devserver_gpus") == {("gpu",): 7, ("cpu",): 0}


def test_every_verdict_is_exported_from_the_start(day: Day) -> None:
    verdicts = {(str(verdict),) for verdict in Idleness} - {("IdleStopped",)}
    assert set(samples("idle_verdicts")) == verdicts
    assert set(samples("idle_verdict_age_seconds")) == verdicts - {("NotRunning",)}
    day.note(Idleness.ACTIVE)
    day.note(None, TRAINING)
    assert figure("idle_verdicts", verdict="Active") == 1
    assert sum(samples("idle_verdicts").values()) == 1, "the other one may be idle for ever"


def test_the_age_of_a_verdict_is_since_it_was_known(day: Day) -> None:
    day.note(Idleness.ACTIVE)
    day.steady.now += 60
    assert day.age(Idleness.ACTIVE) == 60
    day.note(Idleness.ACTIVE)
    assert day.age(Idleness.ACTIVE) == 0
    day.steady.now += 100
    day.note(Idleness.NO_REPORT, judged=Idleness.NO_REPORT)
    day.steady.now += 1000
    day.note(Idleness.SIGNAL_UNKNOWN, judged=Idleness.SIGNAL_UNKNOWN)
    assert (day.age(Idleness.NO_REPORT), day.age(Idleness.SIGNAL_UNKNOWN)) == (0, 1100)
    day.note(Idleness.IDLE, judged=Idleness.IDLE)
    assert (day.age(Idleness.SIGNAL_UNKNOWN), day.age(Idleness.IDLE)) == (0, 0)


def test_what_a_status_still_says_is_not_known(day: Day) -> None:
    day.note(Idleness.IDLE, judged=None)
    day.steady.now += 90
    day.note(Idleness.IDLE, judged=None)
    assert day.age(Idleness.IDLE) == 90


@pytest.mark.parametrize("before", [None, Idleness.NOT_RUNNING])
def test_a_server_that_starts_has_not_been_unknown_before(
    day: Day, before: Idleness | None
) -> None:
    day.note(before, judged=before)
    day.steady.now += 5000
    day.note(Idleness.NO_REPORT, judged=Idleness.NO_REPORT)
    day.steady.now += 7
    assert day.age(Idleness.NO_REPORT) == 7


def test_the_oldest_of_a_verdict_counts(day: Day) -> None:
    day.note(Idleness.ACTIVE)
    day.steady.now += 30
    day.note(Idleness.ACTIVE, TRAINING)
    assert day.age(Idleness.ACTIVE) == 30


@pytest.mark.parametrize(
    ("annotations", "spec", "gpus"),
    [
        (made_from(gives=GPUS), {}, 4),
        (made_from(gives=GPUS, **distributed(3)), distributed(3), 12),
        (made_from(), {}, 0),
        ({}, {}, 0),
        (made_from(gives=GPUS), {"stopped": True}, 0),
        (made_from(gives={"resources": {"limits": {"canhazgpu.com/gpu": 1}}}), {}, 1),
        (made_from(gives={"resources": {"limits": {"nvidia.com/gpu": "many"}}}), {}, 0),
        ({MADE_FROM: MadeFrom({}, "gpu", 1, {"resources": "none"}).to_text()}, {}, 0),
    ],
)
def test_the_gpus_of_a_server_are_those_of_its_pods(
    annotations: dict[str, str], spec: dict[str, Any], gpus: int
) -> None:
    assert Observed(server(**spec), made=True, scale=1, annotations=annotations).gpus == gpus


def test_owners_are_named_only_if_that_is_wanted() -> None:
    servers = Servers(lambda: 0.0)
    for name, owner in (("a", "alice"), ("b", "alice"), ("c", "bob")):
        servers.doing[Key("team", name)] = Doing("cpu", "Running", "Ready", owner)
    found = {}
    for owners in (False, True):
        exported = Exported(owners=owners)
        exported.servers = servers
        count, _ = exported.collect()
        found[owners] = {tuple(s.labels.items())[3:]: s.value for s in count.samples}
    assert found == {False: {(): 3}, True: {(("owner", "alice"),): 2, (("owner", "bob"),): 1}}
    servers.doing.clear()


def test_an_owner_is_noted_with_the_server() -> None:
    servers = Servers(lambda: 0.0)
    life = server()
    servers.note(life, {"phase": "Running"}, "cpu", life.metadata.creation_timestamp)  # type: ignore[arg-type]
    assert [one.owner for one in servers.doing.values()] == ["alice"]
    servers.doing.clear()


def test_an_agent_that_is_silent_is_missing() -> None:
    steady = Steady()
    reports = Reports(steady)
    agents.export(reports)
    for node in ("node-a", "node-b"):
        reports.note(node, activity(sequence=None, node=node))
    steady.now += 100
    reports.note("node-a", activity(about(0, 5)))
    steady.now += 51
    assert samples("node_agent_report_age_seconds") == {("node-a",): 51, ("node-b",): 151}
    assert figure("node_agents_missing") == 1
    reports.note("node-b", None)
    assert samples("node_agent_report_age_seconds") == {("node-a",): 51}
    assert figure("node_agents_missing") == 0
