"""The processes of the tests' cluster, to be killed."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from support.deployment import SYSTEM

from devctl.local import cgroups, supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings


def pids_of(program: str, group: str) -> set[int]:
    """The processes of a program below a control group."""
    found = set()
    for pid in cgroups.processes(group):
        try:
            if Path(f"/proc/{pid}/exe").readlink().name == program:
                found.add(pid)
        except OSError:
            continue
    return found


def kill(group: str, *programs: str) -> set[int]:
    """kill -9 for all processes of some programs below a control group, at once; their pids."""
    found = [pids_of(program, group) for program in programs]
    assert all(found), (group, programs, found)
    pids = set[int]().union(*found)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return pids


def kill_everything(cluster: ClusterSettings, paths: ClusterPaths) -> None:
    """What a closed shell leaves: no process, but mounts, namespaces and files."""
    pid = supervisor.running_pid(paths)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    cgroups.kill(cgroups.path_of(cluster.name))


@contextmanager
def stopped(cluster: ClusterSettings, node: str, *programs: str) -> Iterator[None]:
    """Programs of a node do nothing, as if it had died; its containers go on unheard."""
    group = cgroups.path_of(cluster.name, node)
    pids = [pid for program in programs for pid in pids_of(program, group)]
    assert len(pids) >= len(programs)
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def leader(kubectl: Kubectl, part: str) -> str:
    """Which process of the operator or the observer works: its pod and a random part."""
    lease = kubectl.api.get("lease", f"devctl-{part}", SYSTEM)
    return "" if lease is None else str(lease["spec"].get("holderIdentity", ""))


def kill_leader(kubectl: Kubectl, cluster: ClusterSettings, part: str) -> None:
    """kill -9 for every process of the one that works, which can release nothing.

    Its pod's own process stays, so that the kubelet starts the container again at once.
    """
    pod = kubectl.api.get("pod", leader(kubectl, part).partition("_")[0], SYSTEM)
    assert pod is not None, part
    killed = 0
    for pid in cgroups.processes(cgroups.path_of(cluster.name)):
        process = Path(f"/proc/{pid}")
        with suppress(OSError):  # a run that has just ended
            program = (process / "exe").readlink().name
            if program != "pause" and pod["metadata"]["uid"] in (process / "cgroup").read_text():
                os.kill(pid, signal.SIGKILL)
                killed += 1
    assert killed
