"""What GPU workloads run is counted at the price of their node's GPUs, and spent from budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from devctl_observer.kinds.usage.controller import EVERY
from support.one import One
from support.plane.content import GPUS
from support.servers import apply_flavor, wait_until
from support.workloads import Workload

from devctl.api.devserver_user import namespace_of
from devctl.api.kinds import TEAM, USER
from devctl.api.usage import read_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl
    from support.plane.parts import ObserverProcess

    from devctl.api.usage import Amounts, LineKey

pytestmark = pytest.mark.usefixtures("deployed", "enforced")

TWO_GPUS = {"requests": {GPUS: 2}, "limits": {GPUS: 2}}
GPU_PRICE = {"perHour": "0.0036", "perGPUHour": "0.0018"}
"""With two GPUs, each costs a millionth per second."""


@pytest.fixture
def team(kubectl: Kubectl) -> Iterator[One]:
    """A team with a user of its name, and a flavor that gives GPUs their price."""
    one = One(kubectl.api, TEAM, f"cost-{uuid4().hex[:6]}")
    user = One(kubectl.api, USER, one.name)
    apply_flavor(kubectl, one.name, resources=TWO_GPUS, price=GPU_PRICE)
    one.apply()
    user.apply(username=owner(one), team=one.name)
    user.wait("Ready")
    yield one
    for kind, name in ((USER, user.name), (TEAM, one.name)):
        kubectl.api.delete(f"{kind.plural}.{kind.group}", name)
    kubectl.api.delete("namespace", namespace_of(one.name))
    kubectl.api.delete("devserverflavor", one.name)


def owner(team: One) -> str:
    """The team's user, by the name that the API server knows."""
    return f"{team.name}@company.com"


def workload(team: One, name: str = "one") -> Workload:
    return Workload(team.api, namespace_of(team.name), name)


def books(team: One) -> list[dict[str, Any]]:
    return [book["spec"] for book in team.api.list("usage", namespace_of(team.name))]


def lines(team: One) -> list[tuple[LineKey, Amounts]]:
    return [read_line(line) for book in books(team) for line in book.get("lines", [])]


def seconds(team: One) -> int:
    """For how long anything has run."""
    return sum(amounts.seconds for _, amounts in lines(team))


def is_open(team: One) -> bool:
    """Whether anything is counted now."""
    return any(book.get("open") for book in books(team))


def await_count(team: One, observer: ObserverProcess) -> None:
    """Let a run's time be counted before it ends: by its node's clock it takes under a second."""
    wait_until(lambda: is_open(team), "it is counted")
    before = seconds(team)
    observer.pass_time(EVERY)
    wait_until(lambda: seconds(team) >= before + EVERY, lambda: f"it has run: {lines(team)}")


def test_each_attempt_is_counted(team: One, observer: ObserverProcess) -> None:
    one = workload(team)
    one.apply(gpuCount=2, owner=owner(team), retryPolicy={"maxRetries": 1, "backoffSeconds": 1})
    for number, end in enumerate(("fail", "succeed"), 1):
        one.follow(lambda s: s.get("attempt") == number and s["phase"] == "Running", "it runs")  # noqa: B023
        await_count(team, observer)
        one.end(end)
    one.wait("Succeeded")
    wait_until(lambda: not is_open(team), "it is counted no more")
    found = lines(team)
    assert {(key.owner, key.kind, key.team, key.name) for key, _ in found} == {
        (owner(team), "GPUWorkload", team.name, "")
    }
    # The first attempt may have been seen before the price.
    priced = [amounts for key, amounts in found if key.price.currency]
    assert priced
    for amounts in priced:
        assert amounts.gpu_seconds == 2 * amounts.seconds
        assert amounts.cost == 3600 * amounts.gpu_seconds


def test_nothing_starts_once_the_teams_budget_is_spent(
    team: One, observer: ObserverProcess
) -> None:
    team.apply(budget={"perMonth": 0, "refuse": True})
    one, two = workload(team), workload(team, "two")
    one.apply(owner=owner(team))
    one.wait("Running")
    await_count(team, observer)
    one.end()
    team.wait("OverBudget")

    def refusal(**spec: Any) -> str:
        try:
            two.apply(owner=owner(team), **spec)
        except pytest.fail.Exception as error:
            return str(error)
        return ""

    assert refusal(stopped=True) == ""
    wait_until(lambda: f"team `{team.name}` has spent" in refusal(stopped=False), "it is refused")
