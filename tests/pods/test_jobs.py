"""What of a job only a container shows: its program's files, its end and its last words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.jobs import FAILS, WAITS, Job

if TYPE_CHECKING:
    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("deployed")


def shell(script: str) -> list[str]:
    """A job's command."""
    return ["/bin/sh", "-c", script]


def test_a_job_of_the_same_name_finds_the_files(job: Job) -> None:
    """In between somebody has looked at them, in the pod of the first."""
    job.apply(command=WAITS)
    job.wait("Running")
    assert job.run("echo kept > /artifacts/file; id -u") == "1000"
    job.run("touch /artifacts/go")
    job.wait("Succeeded")
    job.wait_gone("pod", job.pod)
    claim = job.get("pvc", job.claim)[0]["metadata"]["uid"]
    job.delete()
    job.apply(command=shell("grep kept /artifacts/file"))
    job.wait("Succeeded")
    assert job.get("pvc", job.claim)[0]["metadata"]["uid"] == claim


def test_the_ends_of_programs_are_told(job: Job, kubectl: Kubectl) -> None:
    hungry, broken, telling, slow = map(job.beside, ("hungry", "broken", "telling", "slow"))
    hungry.apply(command=shell("head -c 200M /dev/zero | tail -c 190M > /dev/null"))
    broken.apply(command=FAILS, ttlSecondsAfterFinished=600)
    said = {"reason": "WeightsMissing", "message": "no weights"}
    telling.apply(command=shell(f"echo '{json.dumps(said)}' > /dev/termination-log; exit 1"))
    slow.apply(command=WAITS, activeDeadlineSeconds=2)

    assert "memory" in hungry.wait("Failed", "OutOfMemory")["message"]
    status = broken.wait("Failed", "NonZeroExit")
    assert status["exitCode"] == 7
    # The container's two streams reach its log one after the other, in either order.
    code, _, lines = status["message"].partition(": ")
    assert (code, sorted(lines.split(" | "))) == ("exit code 7", ["first", "it is broken"])
    printed = kubectl("-n", job.namespace, "logs", broken.pod).splitlines()
    assert sorted(printed) == ["first", "it is broken"]
    assert telling.wait("Failed", "WeightsMissing")["message"] == "no weights"
    slow.wait("Failed", "DeadlineExceeded")
