"""Whatever is killed in whichever phase of a job: the end is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.jobs import FAILS, SUCCEEDS, WAITS, Job, told
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.plane.plane import Plane

HOUR, DAY = 3600, 86400
KEPT = {"pvcTTLSecondsAfterFinished": DAY}


@pytest.fixture
def watched(deployed: Plane) -> Iterator[Plane]:
    """The plane, whose clocks are right again afterwards."""
    yield deployed
    deployed.observer.set_clocks()


@pytest.fixture
def jobs(job: Job) -> list[Job]:
    """One that goes its way undisturbed, and one for each phase in which something dies."""
    return [job.beside(name) for name in ("calm", "made", "running", "finished")]


def disturb(
    jobs: list[Job], plane: Plane, kill: Callable[[], None], start: Callable[[], None]
) -> None:
    """Take each job to its phase, kill, and see that all come to the end of the calm one."""
    calm, made, running, finished = jobs
    calm.apply(command=WAITS, **KEPT)
    calm.wait("Running")
    calm.end("succeed")
    calm.wait("Succeeded")
    calm.wait_gone("pod", calm.pod)
    expected = told(calm)

    running.apply(command=WAITS, **KEPT)
    finished.apply(command=SUCCEEDS, ttlSecondsAfterFinished=HOUR, pvcTTLSecondsAfterFinished=HOUR)
    running.wait("Running")
    finished.wait("Succeeded")
    made.apply(command=WAITS, **KEPT)
    kill()
    running.end("succeed")
    # An hour passes, for all that counts seconds.
    plane.observer.set_clocks(own=2 * HOUR, server=2 * HOUR)
    start()
    finished.wait_gone("pod", finished.pod)
    finished.wait_gone("pvc", finished.claim)
    plane.observer.set_clocks()
    running.wait("Succeeded")
    made.wait("Running")
    made.end("succeed")
    made.wait("Succeeded")
    for job in (made, running):
        job.wait_gone("pod", job.pod)
        wait_until(
            lambda one=job: told(one) == expected,  # type: ignore[misc]
            lambda one=job: f"{told(one)} is {expected}",  # type: ignore[misc]
        )
        assert job.get("pvc", job.claim)


def test_a_killed_operator(jobs: list[Job], watched: Plane) -> None:
    disturb(jobs, watched, watched.operator.kill, watched.operator.start)


def test_a_killed_observer(jobs: list[Job], watched: Plane) -> None:
    disturb(jobs, watched, watched.observer.kill, watched.observer.start)


def test_a_killed_etcd_and_api_server(job: Job, watched: Plane) -> None:
    """The times are over before they are back; who keeps them may have ended meanwhile."""
    job.apply(command=SUCCEEDS, ttlSecondsAfterFinished=HOUR, pvcTTLSecondsAfterFinished=HOUR + 60)
    waiting = job.beside("waiting")
    waiting.apply(command=WAITS)
    waiting.wait("Running")
    before = job.wait("Succeeded")
    control = watched.control
    control.api_server.kill()
    control.etcd.kill()
    watched.observer.set_clocks(own=2 * HOUR, server=2 * HOUR)
    for process in (control.etcd, control.api_server):
        process.start()
    control.api_server.await_so(control.answers, "it answers")
    watched.wait_for_schemas()
    if not watched.observer.is_running:
        watched.observer.start()
    job.wait_gone("pod", job.pod)
    job.wait_gone("pvc", job.claim)
    wait_until(lambda: job.condition("ArtifactsExpired").get("status") == "True", "it says so")
    assert job.status["finishedAt"] == before["finishedAt"]
    assert waiting.phase == "Running"
    watched.observer.set_clocks()
    waiting.end("succeed")
    waiting.wait("Succeeded")


def test_an_observer_that_sleeps_through_it_all_fires_late_but_right(
    jobs: list[Job], watched: Plane
) -> None:
    """What happened meanwhile is derived from what is stored."""
    calm, done, failed, left = jobs
    for one, seconds in ((left, 0), (calm, HOUR)):
        one.apply(command=WAITS, pvcTTLSecondsAfterFinished=seconds)
        one.wait("Running")
    watched.observer.stop()
    done.apply(command=SUCCEEDS, pvcTTLSecondsAfterFinished=HOUR)
    failed.apply(command=FAILS, pvcTTLSecondsAfterFinished=5 * HOUR)
    calm.end("succeed")
    left.delete()
    for job in (done, failed, calm):
        ended = f"jsonpath={{.status.phase}}={'Failed' if job is failed else 'Succeeded'}"
        where = ("-n", job.namespace, "--timeout=60s")
        wait_until(lambda one=job: bool(one.get("pod", one.pod)), "its pod is made")  # type: ignore[misc]
        job.kubectl("wait", f"pod/{job.pod}", f"--for={ended}", *where)
    assert left.get("pvc", left.claim)
    watched.observer.set_clocks(own=2 * HOUR, server=2 * HOUR)
    watched.observer.start()
    calm.wait("Succeeded")
    done.wait("Succeeded")
    assert "it is broken" in failed.wait("Failed")["message"]
    for job in (done, left, calm):
        job.wait_gone("pvc", job.claim)
    assert failed.get("pvc", failed.claim)
