"""An observer whose clock is set while it keeps a job's times."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.jobs import SUCCEEDS, Job, moment
from support.runs import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures("deployed")]

LATE = timedelta(seconds=30)
HOUR = 3600
DEPLOYMENT = ("deployment/devctl-observer", "-n", "devctl-system")


@dataclass(frozen=True)
class Clock:
    """By how much the observer's clock is ahead, in a file that it reads at every look."""

    file: Path

    def set(self, seconds: int) -> datetime:
        """Set it; the right time of that."""
        new = self.file.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self.file)
        return datetime.now(UTC)


@pytest.fixture
def clock(kubectl: Kubectl, kubeconfig: Path, tmp_path: Path) -> Iterator[Clock]:
    """The clock of an observer that stands in for the cluster's own, outside of it."""
    kubectl("scale", *DEPLOYMENT, "--replicas=0")
    label = "app.kubernetes.io/component=observer"
    kubectl("wait", "pod", "-n", "devctl-system", "-l", label, "--for=delete", "--timeout=60s")
    clock = Clock(tmp_path / "ahead")
    clock.set(0)
    settings = {"KUBECONFIG": str(kubeconfig), "DEVCTL_PROBES_PORT": str(free_port())}
    program = Path(__file__).with_name("stepped_observer.py")
    with (tmp_path / "log").open("wb") as log:
        observer = subprocess.Popen(
            [sys.executable, program, clock.file],
            env=os.environ | settings,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
    try:
        yield clock
        assert observer.poll() is None, (tmp_path / "log").read_text()
    finally:
        observer.terminate()
        observer.wait(30)
        kubectl("scale", *DEPLOYMENT, "--replicas=1")
        kubectl("rollout", "status", *DEPLOYMENT, "--timeout=60s")


def test_a_clock_that_is_set_neither_hurries_nor_loses_anything(
    clock: Clock, kubectl: Kubectl, namespace: str, images: dict[str, Image]
) -> None:
    job = Job(kubectl, namespace, images["base"].reference)
    job.apply(command=SUCCEEDS, ttlSecondsAfterFinished=15, pvcTTLSecondsAfterFinished=50)
    status = job.wait("Succeeded")
    due = moment(status["podExpiresAt"])
    clock.set(HOUR)
    assert due <= job.wait_gone("pod", job.pod) <= due + LATE

    due = moment(status["artifactsExpireAt"])
    clock.set(-HOUR)
    while datetime.now(UTC) < due + timedelta(seconds=5):
        assert job.get("pvc", job.claim), "one of the two clocks says that it is too early"
        time.sleep(0.5)
    right = clock.set(0)
    assert job.wait_gone("pvc", job.claim) <= right + LATE
