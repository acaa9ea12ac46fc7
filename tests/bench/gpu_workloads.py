"""GPUWorkloads: from `apply` to the pod, in a fresh cluster and beside a thousand finished ones.

Prints figures and asserts none. Makes a control plane of its own, as tests/plane has it: no
container runs. The finished workloads have no Jobs. Needs root.

usage: gpu_workloads.py [--rounds 20] [--finished 1000]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.many import a_plane
from support.workloads import PLURAL, Workload

from devctl.api.gpu_workload import LABEL

if TYPE_CHECKING:
    from support.plane.plane import Plane

NAMESPACE = "bench"
# Short, because a bench that waits for ever says nothing.
PATIENCE = 60.0
ENDED = {"phase": "Succeeded", "reason": "Completed", "message": "", "attempt": 1, "retryCount": 0}


def to_pod(plane: Plane, name: str) -> float:
    """Seconds from `apply` until the pod exists; the workload is deleted after it."""
    api = plane.kubectl.api
    one = Workload(api, NAMESPACE, name)
    began = time.monotonic()
    one.apply()
    took = PATIENCE
    for event, pod in api.watch("pod", NAMESPACE, PATIENCE):
        if event == "ADDED" and pod["metadata"]["labels"].get(LABEL) == name:
            took = time.monotonic() - began
            break
    one.delete()
    return took


def finish(plane: Plane, count: int) -> None:
    """Make workloads that have succeeded."""
    api = plane.kubectl.api
    for number in range(count):
        one = Workload(api, NAMESPACE, f"done-{number}")
        one.apply(stopped=True)
        ended = ENDED | {"finishedAt": "2026-01-01T00:00:00Z"}
        api.patch(PLURAL, one.name, {"status": ended}, NAMESPACE, sub="status")


def report(what: str, plane: Plane, rounds: int) -> None:
    """Print the figures of some rounds; the first one, which warms up, is not among them."""
    slug = what.replace(" ", "-")
    times = [to_pod(plane, f"{slug}-{number}") for number in range(rounds + 1)][1:]
    print(f"{what}: median {statistics.median(times):.2f} s, longest {max(times):.2f} s")


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--finished", type=int, default=1000)
    given = parser.parse_args()
    with a_plane() as plane:
        plane.kubectl("create", "namespace", NAMESPACE)
        report("fresh", plane, given.rounds)
        finish(plane, given.finished)
        time.sleep(10)
        report(f"beside {given.finished} finished", plane, given.rounds)


if __name__ == "__main__":
    main()
