"""This release and an earlier one by turns, on one control plane: DevServers answered a second.

Prints figures and asserts none. Each turn installs the release's configuration and starts its
operator and observer. Needs root.

usage: releases.py [--earlier COMMIT] [--turns 3]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench import cpu, memory
from bench.many import BATCH, FLAVOR, NAMESPACE, a_plane, apply, batch
from support.plane.plane import SYSTEM
from support.plane.release import EARLIER, check_out
from support.rights import leases
from support.servers import SMALL, apply_flavor

from devctl.local.paths import REPOSITORY

if TYPE_CHECKING:
    from support.plane.plane import Plane

WARM_UP = 10
"""Servers that a release answers before it is measured."""


def turn(plane: Plane, checkout: Path, title: str) -> float:
    """Have a release answer so many stopped servers; how many a second."""
    plane.install(checkout)
    operator, observer = plane.release(checkout)
    observer.start(lambda: observer.identity in leases(plane.kubectl, SYSTEM))
    operator.start()
    try:
        batch(plane, BATCH, stopped=True, count=WARM_UP)
        time.sleep(5)
        spent = cpu.seconds(memory.below(os.getpid()))
        rate = batch(plane, 0, stopped=True)
        print(f"{title}: {rate:.2f} a second")
        print(" ", cpu.report(spent, cpu.seconds(memory.below(os.getpid())), BATCH), flush=True)
        for made in plane.kubectl.api.list("devserver", NAMESPACE):
            plane.kubectl.api.delete("devserver", made["metadata"]["name"], NAMESPACE)
        time.sleep(10)
    finally:
        operator.stop()
        observer.kill()
    return rate


def main() -> None:
    """Read the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--earlier", default=EARLIER)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    rates: dict[str, list[float]] = {"earlier": [], "now": []}
    with tempfile.TemporaryDirectory(prefix="devctl-bench-") as name, a_plane() as plane:
        plane.operator.stop()
        plane.observer.kill()
        apply(plane, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        apply_flavor(plane.kubectl, FLAVOR, resources=SMALL)
        earlier = check_out(options.earlier, Path(name) / "earlier")
        for number in range(options.turns):
            for which, source in (("earlier", earlier), ("now", REPOSITORY)):
                folder = Path(name) / f"{which}-{number}"
                folder.symlink_to(source)
                rates[which].append(turn(plane, folder, folder.name))
    for which, found in rates.items():
        print(f"{which}: median {statistics.median(found):.2f} a second")


if __name__ == "__main__":
    main()
