"""An observer or operator that is killed after any write neither repeats nor skips an attempt."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from support.fault_proxy import FaultProxy, fault_proxy
from support.plane.parts import ObserverProcess
from support.plane.scenarios import FAILS
from support.plane.supervision import supervised
from support.servers import wait_until
from support.workloads import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

ONCE = {"maxRetries": 1, "backoffSeconds": 1}


def live(one: Workload) -> dict[str, Any]:
    """A workload's life, both attempts of which fail: what is left of it."""
    one.apply(command=["sh", "-c", FAILS], retryPolicy=ONCE)
    status = one.wait("Failed", seconds=150)
    attempts = [job["metadata"]["name"].removeprefix(one.name) for job in one.jobs()]
    pods = [pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] for pod in one.pods()]
    kept = ("phase", "reason", "attempt", "retryCount", "exitCode")
    return {
        "jobs": attempts,
        "pods": sorted(name.removeprefix(one.name) for name in pods),
        **{name: status[name] for name in kept},
    }


CALM = {
    "jobs": ["-1", "-2"],
    "pods": ["-1", "-2"],
    "phase": "Failed",
    "reason": "NonZeroExit",
    "attempt": 2,
    "retryCount": 1,
    "exitCode": 7,
}


def struck_after_each_write(
    kubectl: Kubectl, namespace: str, proxy: FaultProxy, strike: Callable[[], None]
) -> int:
    """Lives, each struck after one write more, until there are no more; how many were struck."""
    last, struck = 0, True
    while struck:
        last += 1
        proxy.calm_down()
        one, done = Workload(kubectl.api, namespace, f"w{last}-{uuid4().hex[:4]}"), Event()

        def look(request: str, last: int = last, name: str = one.name, done: Event = done) -> None:
            mine = [each for each in proxy.writes if name in each and "/events" not in each]
            if name in request and len(mine) == last and not done.is_set():
                done.set()
                strike()

        proxy.after_write = look
        assert live(one) == CALM, f"struck after write {last}: {proxy.writes}"
        struck = done.is_set()
        proxy.calm_down()
        one.delete()
    return last - 1


def test_an_observer_that_is_killed_after_any_write_counts_exactly(
    deployed: Plane, kubectl: Kubectl, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("proxy")
    deployed.observer.kill()
    try:
        with fault_proxy(deployed.account("devctl-observer"), folder) as proxy:
            observer = ObserverProcess(proxy.kubeconfig, folder)
            with supervised(observer) as supervision:
                struck = struck_after_each_write(kubectl, namespace, proxy, supervision.kill)
        observer.kill()
    finally:
        deployed.observer.start()
    assert struck >= 8, "it chooses, wakes, sees and counts twice"
    assert supervision.kills == struck


@pytest.fixture
def stage(
    operator_away: Plane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[FaultProxy, Any]]:
    folder = tmp_path_factory.mktemp("proxy")
    with fault_proxy(operator_away.account("devctl-operator"), folder) as proxy:
        operator = operator_away.operator_with(proxy.kubeconfig, "operator-of-workloads", folder)
        operator.start()
        yield proxy, operator
        operator.kill()


def test_an_operator_that_is_killed_after_any_write_creates_each_job_once(
    stage: tuple[FaultProxy, Any], kubectl: Kubectl, namespace: str
) -> None:
    proxy, operator = stage
    down = Event()

    def strike() -> None:
        operator.kill()
        down.set()

    def revive() -> None:
        wait_until(down.is_set, "it is killed")
        down.clear()
        operator.start()

    for last in (1, 2, 3):
        proxy.calm_down()
        one, done = Workload(kubectl.api, namespace, f"o{last}"), Event()

        def look(request: str, last: int = last, name: str = one.name, done: Event = done) -> None:
            mine = [each for each in proxy.writes if name in each]
            if name in request and len(mine) == last and not done.is_set():
                done.set()
                strike()

        proxy.after_write = look
        one.apply(command=["sh", "-c", FAILS], retryPolicy=ONCE)
        revive()
        assert live(one) == CALM, f"killed after write {last}: {proxy.writes}"
        one.delete()
