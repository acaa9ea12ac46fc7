"""From a release without owners of jobs to this one, and back: nothing restarts or gets stuck."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.jobs import SUCCEEDS, WAITS
from support.plane.release import EARLIER, at_work, check_out
from support.servers import DevServer, small_server, wait_until
from support.tenants import job as job_manifest

from devctl.api.ephemeral_acceleration_job import OWNER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.jobs import Job
    from support.plane.plane import Plane

    from devctl.local.images import Image

pytestmark = pytest.mark.usefixtures("deployed")

KINDS = "statefulset,pod,pvc,service,secret"
HOUR = 3600
ONE_JOB = {"ephemeral_acceleration_job": 1}
TWO = {"mode": "distributed", "distributed": {"worldSize": 2, "backend": "gloo"}}


@pytest.fixture
def server(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[DevServer]:
    with small_server(kubectl, namespace, images["base"].reference) as made:
        yield made


@pytest.fixture
def earlier(deployed: Plane, tmp_path: Path) -> Iterator[Path]:
    """The files of the earlier release, which is installed; this one is again afterwards."""
    checkout = check_out(EARLIER, tmp_path / f"earlier-{tmp_path.name}")
    deployed.operator.stop()
    deployed.observer.stop()
    # Nothing removes what an earlier release does not know, and this one's jobs get owners by it.
    deployed.kubectl("delete", "mutatingadmissionpolicybinding", "devctl-owner-default")
    probe = json.dumps(job_manifest())
    ask = ("create", "-n", "default", "-f", "-", "--dry-run=server", "-o", "json")
    wait_until(lambda: '"owner"' not in deployed.kubectl(*ask, input=probe), "nobody is made one")
    deployed.install(checkout)
    yield checkout
    deployed.install()
    deployed.observer.start()
    deployed.operator.start()


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


def uid(found: list[dict[str, Any]]) -> str:
    """What tells an object from every other that ever had its name."""
    (thing,) = found
    return str(thing["metadata"]["uid"])


def specs(server: DevServer) -> dict[str, Any]:
    """What people have written."""
    found = server.get("devserver") + server.get("ephemeralaccelerationjob")
    return {thing["metadata"]["name"]: thing["spec"] for thing in found}


def test_up_and_down_again_restarts_nothing_and_leaves_nothing_stuck(
    earlier: Path, deployed: Plane, server: DevServer, job: Job
) -> None:
    running, finished, kept = job, job.beside("finished"), job.beside("kept")
    with at_work(*deployed.release(earlier)):
        server.apply()
        changed, stopped = beside(server, "changed"), beside(server, "stopped")
        pair = beside(server, "pair", **TWO)
        failed = beside(server, "failed", flavor="none")
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
        # All that there will be of these two is there, too.
        failed.wait("Applied", "False")
        kept.wait_applied()
        before, said, wanted = made(server), phases(server), specs(server)

    runs = {"devserver": 5, "ephemeral_acceleration_job": 3}

    def unchanged() -> None:
        assert made(server) == before
        assert specs(server) == wanted
        wait_until(lambda: phases(server) == said, lambda: f"{phases(server)} is {said}")

    deployed.install()
    with at_work(deployed.operator, deployed.observer, runs):
        unchanged()
        # Its scripts are others by now, and it keeps those that it started with.
        wait_until(
            lambda: server.condition("RestartRequired")["reason"] == "TemplateChanged",
            lambda: f"it is told: {server.condition('RestartRequired')}",
        )
        assert changed.condition("RestartRequired")["reason"] == "SpecChanged"

    deployed.install(earlier)
    again = check_out(EARLIER, earlier.with_name(f"again-{earlier.name}"))
    with at_work(*deployed.release(again), runs):
        unchanged()
        # Nothing is stuck: all that there is to do goes on.
        stopped.start()
        pair.stop()
        running.end("succeed")
        running.wait("Succeeded")
        server.kubectl.api.delete("devserver", server.name, server.namespace)
        wait_until(lambda: "Pod/lab-0" not in made(server), "it goes")
    assert {"PersistentVolumeClaim/home-lab-0", "Pod/changed-0"} <= made(server).keys()


def test_a_volume_of_a_release_without_owners_stays_its_own_jobs(
    earlier: Path, deployed: Plane, job: Job
) -> None:
    with at_work(*deployed.release(earlier)):
        job.apply(suspend=True, command=SUCCEEDS, pvcTTLSecondsAfterFinished=HOUR)
        job.wait_applied()
        claim = job.get("pvc", job.claim)
    deployed.install()
    with at_work(deployed.operator, deployed.observer, ONE_JOB):
        job.apply(suspend=False)
        job.wait("Succeeded")
        job.delete()
        # Whose files these are, nobody knows.
        job.apply()
        job.wait("Pending", "Conflict")
    assert uid(job.get("pvc", job.claim)) == uid(claim)


def test_a_release_without_owners_goes_on_with_the_volumes_of_this_one(
    earlier: Path, deployed: Plane, job: Job
) -> None:
    deployed.install()
    with at_work(deployed.operator, deployed.observer):
        job.apply(suspend=True, command=SUCCEEDS, pvcTTLSecondsAfterFinished=0)
        job.wait_applied()
        claim = job.get("pvc", job.claim)
        assert OWNER in claim[0]["metadata"]["labels"]
    deployed.install(earlier)
    with at_work(*deployed.release(earlier), ONE_JOB):
        job.apply(suspend=False, ttlSecondsAfterFinished=HOUR)
        job.wait("Succeeded")
        assert uid(job.get("pvc", job.claim)) == uid(claim)
        job.apply(ttlSecondsAfterFinished=0)
        job.wait_gone("pvc", job.claim)
