"""300 users with a thousand servers, of which a hundred may run: order, quota and delays.

Prints figures and asserts none. Makes a control plane of its own with Kueue's program beside it, as
tests/plane has it: no container runs. Needs root.

usage: queues.py [--users 300] [--servers 1000] [--teams 10] [--pods 10]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.many import a_plane
from support.plane.kueue import KueueProcess
from support.plane.programs import ensure_programs
from support.queue_crowd import Crowd

PATIENCE = 1800.0


def measure(crowd: Crowd) -> None:
    """Have all users come and all servers run, and print the figures."""
    began = time.monotonic()
    crowd.admit()
    seconds = time.monotonic() - began
    print(f"{crowd.users} users of {crowd.teams} teams: queues after {seconds:.0f} s", flush=True)
    began = time.monotonic()
    crowd.work()
    seconds, ledger = time.monotonic() - began, crowd.ledger
    room = crowd.teams * crowd.pods
    print(
        f"{crowd.servers} servers have run, {room} at a time, in {seconds:.0f} s;"
        f" most at once of a team: {max(ledger.most.values())} of {crowd.pods}",
        f"quota exceeded: {len(ledger.exceeded)} times {ledger.exceeded[:3]}",
        f"out of order: {len(ledger.overtaken())} {ledger.overtaken()[:3]}",
        sep="\n",
    )
    for what, reason, since in (
        ("Workload to status Queued", "Queued", crowd.asked),
        ("last pod ready to status Ready", "Ready", crowd.started),
    ):
        found = crowd.delays(reason, since)
        if found:
            middle, late = found[len(found) // 2], found[max(0, int(len(found) * 0.99) - 1)]
            print(f"{what}: {len(found)}, p50 {middle:.2f} s, p99 {late:.2f} s", flush=True)


def main() -> None:
    """Read the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("users", 300), ("servers", 1000), ("teams", 10), ("pods", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start", flush=True)
    with a_plane() as plane, tempfile.TemporaryDirectory(prefix="devctl-bench-") as folder:
        os.environ["KUBECONFIG"] = str(plane.kubeconfig)
        kueue = KueueProcess(plane, ensure_programs(), Path(folder))
        kueue.start()
        measure(Crowd(plane.kubectl, "crowd", **vars(options), seconds=PATIENCE))
        kueue.stop()


if __name__ == "__main__":
    main()
