"""Ending what a killed command left running: Ansible's workers outlive Ansible.

Everything that a playbook starts for a cluster carries the cluster's name in its environment,
but for what the supervisor runs, which starts with an environment of its own.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from devctl.errors import HostError

VARIABLE = "DEVCTL_LOCAL_RUN"


def find(cluster: str, proc: Path = Path("/proc")) -> set[int]:
    """The processes of earlier playbook runs for a cluster.

    Only the holder of the cluster's lock may ask: a run of somebody else would be found too.
    """
    mark = f"{VARIABLE}={cluster}".encode()
    found = set()
    for entry in proc.glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.add(int(entry.name))
        except OSError:
            continue
    return found - {os.getpid()}


def end(cluster: str, seconds: float = 10.0) -> None:
    """Kill what earlier runs left, and wait until it is gone.

    Raises:
        HostError: Some of it does not end.
    """
    deadline = time.monotonic() + seconds
    while pids := find(cluster):
        if time.monotonic() > deadline:
            raise HostError(
                f"pid {min(pids)} of an earlier run does not end", "see what it waits for"
            )
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)
