"""From an earlier release to this one, and back again: nothing restarts, and nothing is stuck."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from support.jobs import SUCCEEDS, WAITS
from support.plane.release import EARLIER, check_out
from support.servers import DevServer, small_server, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.jobs import Job
    from support.plane.parts import ObserverProcess, OperatorProcess
    from support.plane.plane import Plane

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

KINDS = "statefulset,pod,pvc,service,secret"
HOUR = 3600
TWO = {"mode": "distributed", "distributed": {"worldSize": 2, "backend": "gloo"}}


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


@pytest.fixture
def earlier(deployed: Plane, tmp_path: Path) -> Iterator[Path]:
    """The files of the earlier release, which is installed; this one is again afterwards."""
    checkout = check_out(EARLIER, tmp_path / "earlier")
    deployed.operator.stop()
    deployed.observer.stop()
    deployed.install(checkout)
    yield checkout
    deployed.install()
    deployed.observer.start()
    deployed.operator.start()


@contextmanager
def at_work(operator: OperatorProcess, observer: ObserverProcess, runs: int) -> Iterator[None]:
    """Both run, and have looked at everything; they end in order."""
    observer.start()
    operator.start()
    done = "runs_total{"

    def ended() -> float:
        return sum(n for name, n in operator.runs().items() if name.startswith(done))

    try:
        operator.runner.await_so(lambda: ended() >= runs, "every object has been run")
        operator.runner.await_so(
            lambda: not (operator.runs()["queue"] or operator.runs()["running"]), "it is at rest"
        )
        yield
    finally:
        operator.stop()
        observer.stop()


def beside(server: DevServer, name: str, **spec: Any) -> DevServer:
    """Another server of the same owner."""
    made = DevServer(server.kubectl, server.namespace, server.spec, name)
    made.apply(**spec)
    return made


def phases(server: DevServer) -> dict[str, str]:
    """What the status of each server and job says."""
    found = server.get("devserver") + server.get("ephemeralaccelerationjob")
    return {thing["metadata"]["name"]: thing["status"]["phase"] for thing in found}


def made(server: DevServer) -> dict[str, Any]:
    """What is there, and must be the very same afterwards; pods with how often they restarted."""
    found = {}
    for thing in server.get(KINDS):
        restarts = (
            [c["restartCount"] for c in thing["status"].get("containerStatuses", [])]
            if (thing["kind"] == "Pod")
            else []
        )
        found[f"{thing['kind']}/{thing['metadata']['name']}"] = thing["metadata"]["uid"], restarts
    return found


def specs(server: DevServer) -> dict[str, Any]:
    """What people have written."""
    found = server.get("devserver") + server.get("ephemeralaccelerationjob")
    return {thing["metadata"]["name"]: thing["spec"] for thing in found}


def test_up_and_down_again_restarts_nothing_and_leaves_nothing_stuck(
    earlier: Path, deployed: Plane, server: DevServer, job: Job
) -> None:
    running, finished, kept = job, job.beside("finished"), job.beside("kept")
    with at_work(*deployed.release(earlier), runs=0):
        server.apply()
        changed, stopped = beside(server, "changed"), beside(server, "stopped")
        pair = beside(server, "pair", **TWO)
        beside(server, "failed", flavor="none")
        running.apply(command=WAITS)
        finished.apply(
            command=SUCCEEDS, ttlSecondsAfterFinished=HOUR, pvcTTLSecondsAfterFinished=HOUR
        )
        kept.apply(suspend=True)
        for one in (server, changed, stopped, pair):
            one.wait("Ready")
        stopped.stop()
        changed.apply(image="localhost/devctl/other:1")
        changed.wait("RestartRequired")
        running.wait("Running")
        finished.wait("Succeeded")
        kept.wait("Pending", "Suspended")
        before, said, wanted = made(server), phases(server), specs(server)

    def unchanged() -> None:
        assert made(server) == before
        assert specs(server) == wanted
        wait_until(lambda: phases(server) == said, lambda: f"{phases(server)} is {said}")

    deployed.install()
    with at_work(deployed.operator, deployed.observer, runs=len(wanted)):
        unchanged()
        # Its scripts are others by now, and it keeps those that it started with.
        assert server.condition("RestartRequired")["reason"] == "TemplateChanged"
        assert changed.condition("RestartRequired")["reason"] == "SpecChanged"

    deployed.install(earlier)
    again = check_out(EARLIER, earlier.with_name("again"))
    with at_work(*deployed.release(again), runs=len(wanted)):
        unchanged()
        # Nothing is stuck: all that there is to do goes on.
        stopped.start()
        pair.stop()
        running.end("succeed")
        running.wait("Succeeded")
        server.kubectl.api.delete("devserver", server.name, server.namespace)
        wait_until(lambda: "Pod/lab-0" not in made(server), "it goes")
    assert {"PersistentVolumeClaim/home-lab-0", "Pod/changed-0"} <= made(server).keys()
