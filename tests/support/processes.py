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
    return {pid for pid in cgroups.processes(group) if _program(pid) == program}


def pids_saying(word: str, program: str, group: str) -> set[int]:
    """Those of a program, such as `python3.13`, whose command line has a word in it."""
    return {
        pid
        for pid in cgroups.processes(group)
        if _program(pid).startswith(program) and word in _command(pid)
    }


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""


@contextmanager
def frozen(pids: set[int]) -> Iterator[None]:
    """Processes do nothing for a while; some of them may be killed meanwhile."""
    assert pids
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def kill(group: str, *programs: str) -> set[int]:
    """kill -9 for all processes of some programs below a control group, at once; their pids."""
    found = [pids_of(program, group) for program in programs]
    assert all(found), (group, programs, found)
    pids = set[int]().union(*found)
    kill_all(pids)
    return pids


def kill_all(pids: set[int]) -> None:
    """kill -9 for some processes, of which there has to be one."""
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


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
    pids = set[int]().union(*(pids_of(program, group) for program in programs))
    assert len(pids) >= len(programs)
    with frozen(pids):
        yield


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
    assert signal_pod(cluster, pod["metadata"]["uid"], signal.SIGKILL)


def pids_of_pod(cluster: ClusterSettings, uid: str) -> list[int]:
    """Every process of a pod but its own one."""
    found = []
    for pid in cgroups.processes(cgroups.path_of(cluster.name)):
        process = Path(f"/proc/{pid}")
        with suppress(OSError):  # one that has just ended
            program = (process / "exe").readlink().name
            if program != "pause" and uid in (process / "cgroup").read_text():
                found.append(pid)
    return found


def signal_pod(cluster: ClusterSettings, uid: str, sent: signal.Signals) -> int:
    """Send a signal to every process of a pod but its own one; how many there were."""
    count = 0
    for pid in pids_of_pod(cluster, uid):
        with suppress(ProcessLookupError):
            os.kill(pid, sent)
            count += 1
    return count
