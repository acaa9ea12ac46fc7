"""The supervisor is killed: it takes no container with it, and `up` heals the cluster."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from support.commands import devctl, must
from support.processes import pids_of
from support.servers import wait_until

from devctl.local import supervisor

if TYPE_CHECKING:
    import subprocess

    from support.fault_day import Day, Standing


@dataclass(frozen=True)
class Fault:
    """What came of it: how it stood, what `status` said meanwhile, and how it stood after `up`."""

    before: Standing
    etcd: set[int]
    status: subprocess.CompletedProcess[str]
    after: Standing


@pytest.fixture(scope="module")
def fault(day: Day) -> Fault:
    before, etcd = day.stand(), pids_of("etcd", day.group())
    pid = supervisor.running_pid(day.paths)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(
        lambda: not pids_of("kubelet", day.group()), "no kubelet runs without its supervisor"
    )
    status = devctl("local", "status", "--name", day.cluster.name)
    must(devctl("local", "up", "--name", day.cluster.name))
    day.await_well()
    return Fault(before, etcd, status, day.stand())


def test_status_says_so_meanwhile(fault: Fault) -> None:
    assert "the supervisor does not run" in fault.status.stdout
    assert fault.status.returncode == 1


def test_every_container_has_gone_on(fault: Fault, day: Day) -> None:
    assert fault.after.running == fault.before.running
    assert pids_of("etcd", day.group()) == fault.etcd


def test_what_was_written_is_there(fault: Fault) -> None:
    assert fault.after.kept == fault.before.kept
