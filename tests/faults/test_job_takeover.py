"""Whatever dies in whichever phase of a job: the end is the same."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.jobs import FAILS, SUCCEEDS, WAITS, Job, moment
from support.processes import kill_control_plane, kill_kubelet, kill_leader
from support.servers import succeeds, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.settings import ClusterSettings

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures("deployed")]

PHASES = ("made", "running", "finished")
LATE = timedelta(seconds=30)
"""After its time, or after the API server is back, something has to have happened."""


@pytest.fixture
def jobs(kubectl: Kubectl, namespace: str, images: dict[str, Image]) -> Iterator[list[Job]]:
    """One that goes its way undisturbed, and one for each phase in which something dies."""
    names = ("calm", *PHASES)
    yield [Job(kubectl, namespace, images["base"].reference, name) for name in names]
    kubectl("-n", namespace, "delete", "eaj,pod", "--all", "--grace-period=1")


def told(job: Job) -> Any:
    """What its status says in the end, with nothing that differs from job to job."""
    status = job.status
    conditions = {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}
    apart = {"conditions", "startedAt", "finishedAt", "podExpiresAt", "artifactsExpireAt"}
    rest = {name: value for name, value in status.items() if name not in apart}
    text = json.dumps([conditions, rest])
    for name in ("startedAt", "finishedAt", "podExpiresAt", "artifactsExpireAt"):
        text = text.replace(status.get(name, "-"), name.upper())
    return json.loads(text.replace(job.name, "NAME"))


def let_go(job: Job) -> None:
    """End a running job; a kubelet that was killed takes a moment to answer."""
    wait_until(
        lambda: succeeds(lambda: job.run("touch /artifacts/go")), f"{job.name} is told to end"
    )


def disturb(jobs: list[Job], kill: Callable[[], None]) -> None:
    """Take each job to its phase, kill, and see that all come to the end of the calm one."""
    calm, made, running, finished = jobs
    calm.apply(command=WAITS)
    calm.wait("Running")
    let_go(calm)
    calm.wait("Succeeded")
    calm.wait_gone("pod", calm.pod)
    expected = told(calm)

    running.apply(command=WAITS)
    finished.apply(command=SUCCEEDS, ttlSecondsAfterFinished=15)
    running.wait("Running")
    finished.wait("Succeeded")
    made.apply(command=WAITS)
    kill()
    let_go(running)
    gone, due = finished.wait_gone("pod", finished.pod), moment(finished.status["podExpiresAt"])
    assert due <= gone <= due + LATE
    running.wait("Succeeded", seconds=120)
    made.wait("Running", seconds=120)
    let_go(made)
    made.wait("Succeeded")
    for job in (made, running):
        job.wait_gone("pod", job.pod)
        wait_until(lambda one=job: told(one) == expected, f"{told(job)} is {expected}")  # type: ignore[misc]
    assert all(job.get("pvc", job.claim) for job in jobs)


def test_times_to_live_outlast_etcd_and_the_api_server(
    jobs: list[Job], cluster: ClusterSettings
) -> None:
    """The pod's time may be over before they are back; whoever kept it may have ended meanwhile.

    It comes first: the kubelet starts what ends again and again later each time.
    """
    job, *_ = jobs
    job.apply(command=SUCCEEDS, ttlSecondsAfterFinished=15, pvcTTLSecondsAfterFinished=20)
    status = job.wait("Succeeded")
    times = {
        ("pod", job.pod): moment(status["podExpiresAt"]),
        ("pvc", job.claim): moment(status["artifactsExpireAt"]),
    }
    kill_control_plane(cluster)
    gone: dict[tuple[str, str], datetime] = {}
    silent: datetime | None = None
    until = time.monotonic() + 180
    while len(gone) < len(times):
        assert time.monotonic() < until, (gone, silent)
        for what in times.keys() - gone.keys():
            there, now = is_there(job, *what), datetime.now(UTC)
            if there is None:
                silent = now
            elif not there:
                gone[what] = now
        time.sleep(0.2)
    assert silent, "it was killed"
    for what, at in times.items():
        assert at <= gone[what] <= max(at, silent) + LATE, (what, silent)
    wait_until(lambda: job.condition("ArtifactsExpired").get("status") == "True", "it says so")
    assert job.status["finishedAt"] == status["finishedAt"]


def is_there(job: Job, kind: str, name: str) -> bool | None:
    """Whether an object is there; None where the API server does not say."""
    look = ("get", kind, name, "--ignore-not-found", "-o", "name", "--request-timeout=2s")
    try:
        return bool(job.kubectl("-n", job.namespace, *look))
    except pytest.fail.Exception:
        return None


@pytest.mark.parametrize("part", ["operator", "observer"])
def test_a_killed_operator_or_observer(
    jobs: list[Job], part: str, kubectl: Kubectl, cluster: ClusterSettings
) -> None:
    disturb(jobs, lambda: kill_leader(kubectl, cluster, part))


def test_a_killed_kubelet(jobs: list[Job], cluster: ClusterSettings) -> None:
    def kill() -> None:
        for node in cluster.nodes:
            kill_kubelet(cluster, node.name)

    disturb(jobs, kill)


def test_an_observer_that_sleeps_through_it_all_fires_late_but_right(
    jobs: list[Job], kubectl: Kubectl
) -> None:
    """What happened meanwhile is derived from what is stored."""
    deployment = ("deployment/devctl-observer", "-n", "devctl-system")
    calm, done, failed, left = jobs
    left.apply(command=WAITS, pvcTTLSecondsAfterFinished=0)
    left.wait("Running")
    calm.apply(command=WAITS)
    calm.wait("Running")
    kubectl("scale", *deployment, "--replicas=0")
    try:
        label = "app.kubernetes.io/component=observer"
        kubectl("wait", "pod", "-n", "devctl-system", "-l", label, "--for=delete", "--timeout=60s")
        done.apply(command=SUCCEEDS, pvcTTLSecondsAfterFinished=5)
        failed.apply(command=FAILS)
        let_go(calm)
        left.delete()
        for job in (done, failed, calm):
            ended = f"jsonpath={{.status.phase}}={'Failed' if job is failed else 'Succeeded'}"
            where = ("-n", job.namespace, "--timeout=60s")
            wait_until(lambda one=job: bool(one.get("pod", one.pod)), "its pod is made")  # type: ignore[misc]
            kubectl("wait", f"pod/{job.pod}", f"--for={ended}", *where)
        assert left.get("pvc", left.claim)
    finally:
        kubectl("scale", *deployment, "--replicas=1")
    calm.wait("Succeeded")
    done.wait("Succeeded")
    assert "it is broken" in failed.wait("Failed")["message"]
    done.wait_gone("pvc", done.claim)
    left.wait_gone("pvc", left.claim)
