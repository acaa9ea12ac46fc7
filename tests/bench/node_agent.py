"""What the node agent costs with 50 pods of 5 real processes each: CPU time per sample, and memory.

The pods' cgroups are files in memory, since this needs no container; their processes are real, and
so is /proc. usage: python tests/bench/node_agent.py [PODS [PROCESSES [SAMPLES]]]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from devctl_node_agent import __main__, report  # noqa: F401 - all that the agent imports
from devctl_node_agent.agent import Agent
from devctl_node_agent.cgroups import Cgroups
from devctl_node_agent.gpus import Tool
from devctl_node_agent.notices import Notices
from devctl_node_agent.sampler import Sampler
from devctl_node_agent.terminals import show
from support.node_tree import OWN, Tree, uid

_MEMORY = "/dev/shm"  # noqa: S108 - as fast as a cgroup's files
_START = ("/bin/sh", "-c", "read line", "/opt/devctl/start")


def run(pods: int, each: int) -> None:
    """Have processes, and measure in a fresh one, whose memory is the agent's alone."""
    processes: list[subprocess.Popen[bytes]] = []
    with TemporaryDirectory(dir=_MEMORY) as folder:
        tree = Tree(Path(folder) / "node")
        try:
            for number in range(pods):
                mine = [subprocess.Popen(_START, stdin=subprocess.PIPE)]
                mine += [subprocess.Popen(["sleep", "9999"]) for _ in range(each - 1)]
                processes += mine
                tree.container(uid(number), "pause")
                tree.container(uid(number), "server", *(process.pid for process in mine))
            subprocess.run(
                [sys.executable, __file__, "measure", str(tree.cgroup), *sys.argv[3:4]], check=True
            )
        finally:
            for process in processes:
                process.kill()
                process.wait()


def measure(cgroup: str, samples: int = 100) -> None:
    """The figures of one agent."""
    sampler = Sampler("/proc", Cgroups(cgroup, OWN), Tool(time.monotonic, None))
    agent = Agent(
        "node",
        "run",
        sampler=sampler,
        api=Nobody(),
        notices=Notices(partial(show, "/proc")),
        clock=time.monotonic,
        random=lambda: 0.5,
    )
    agent._look(time.monotonic())  # noqa: SLF001 - the part that is measured
    begun, cpu = time.monotonic(), time.process_time()
    for _ in range(samples):
        agent._look(time.monotonic())  # noqa: SLF001
    cpu, took = (time.process_time() - cpu) / samples, (time.monotonic() - begun) / samples
    status = report.status(
        agent._ages,  # noqa: SLF001
        time.monotonic(),
        instance="run",
        sequence=1,
        wall_clock=datetime.now(UTC),
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Python {sys.version.split()[0]}, {len(status['pods'])} pods, {os.cpu_count()} cores")
    print(f"CPU per sample {cpu * 1000:.1f} ms: {cpu * 10:.2f} % of a core at one every 10 s")
    print(f"time per sample {took * 1000:.1f} ms")
    print(f"peak memory {peak:.1f} MiB")
    print(f"report {len(json.dumps(status)) / 1024:.1f} KiB")


class Nobody:
    """An API server that is never asked."""

    def report(self, _node: str, _status: object) -> object:
        """Accept everything."""
        return {}


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        run(*(int(word) for word in (*sys.argv[1:3], "50", "5")[:2]))
