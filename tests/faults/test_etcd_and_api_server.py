"""etcd and the API server are killed at once: nothing is lost, and what is due happens after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from support.fault_day import let_go
from support.jobs import SUCCEEDS, moment
from support.processes import kill, pids_of
from support.servers import succeeds, wait_until

if TYPE_CHECKING:
    from datetime import datetime

    from support.fault_day import Day, Standing
    from support.jobs import Job

PROGRAMS = ("etcd", "kube-apiserver")


@dataclass(frozen=True)
class Fault:
    """What came of it.

    Attributes:
        killed: The processes that were killed.
        before: How it stood.
        after: How it stood when all was well again.
        finished_at: When a job had finished, before.
        gone: When its pod and its volume had gone, by kind.
        expiring: That job: the times of both were over while nobody could be asked.
        running: One that ran all the time.
    """

    killed: set[int]
    before: Standing
    after: Standing
    finished_at: str
    gone: dict[str, datetime]
    expiring: Job
    running: Job


@pytest.fixture(scope="module")
def fault(day: Day) -> Fault:
    before, running = day.stand(), day.job("ran-on")
    running.wait("Running")
    times = {"ttlSecondsAfterFinished": 4, "pvcTTLSecondsAfterFinished": 6}
    expiring = day.job("expiring", command=SUCCEEDS, **times)
    finished_at = expiring.wait("Succeeded")["finishedAt"]

    killed = kill(day.group(), *PROGRAMS)
    wait_until(lambda: not answers(day), "the API server is silent")
    wait_until(lambda: answers(day), "it answers", 120)
    waited = {"pod": expiring.pod, "pvc": expiring.claim}
    gone = {kind: expiring.wait_gone(kind, name) for kind, name in waited.items()}
    let_go(running)
    running.wait("Succeeded")
    day.await_well()
    return Fault(killed, before, day.stand(), finished_at, gone, expiring, running)


def answers(day: Day) -> bool:
    """Whether the API server does."""
    return succeeds(lambda: day.kubectl("get", "--raw=/readyz", "--request-timeout=2s"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_comes_back_by_itself(fault: Fault, day: Day, program: str) -> None:
    now = pids_of(program, day.group())
    assert now
    assert not now & fault.killed


def test_the_servers_containers_have_gone_on(fault: Fault) -> None:
    assert fault.after.running == fault.before.running


def test_what_was_written_is_there(fault: Fault) -> None:
    assert fault.after.kept == fault.before.kept


@pytest.mark.parametrize(("kind", "time"), [("pod", "podExpiresAt"), ("pvc", "artifactsExpireAt")])
def test_what_was_to_go_meanwhile_goes_and_not_before(fault: Fault, kind: str, time: str) -> None:
    assert moment(fault.expiring.status[time]) <= fault.gone[kind]


def test_the_job_says_that_its_volume_is_gone_and_when_it_finished(fault: Fault) -> None:
    expiring = fault.expiring
    wait_until(
        lambda: expiring.condition("ArtifactsExpired").get("status") == "True",
        lambda: str(expiring.status),
    )
    assert expiring.status["finishedAt"] == fault.finished_at


def test_a_running_job_has_gone_on(fault: Fault) -> None:
    assert fault.running.status["exitCode"] == 0
    assert fault.running.get("pvc", fault.running.claim)
