"""Files: `devctl cp` and `devctl sync` beside `kubectl cp`, a large file and many small ones.

Prints figures and asserts none. Works in a namespace of its own, which it deletes, in the cluster
of KUBECONFIG, where the operator is deployed.

usage: files.py IMAGE [--megabytes 100] [--files 2000] [--rounds 3], with PYTHONPATH=tests
"""

from __future__ import annotations

import argparse
import statistics
from typing import TYPE_CHECKING

from bench.one_server import DEVCTL, NAME, OneServer, heading, one_server, random_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

POD = f"{NAME}-0:/home/dev"
_PER_FOLDER = 100


def many(folder: Path, count: int) -> Path:
    """A project of many small files."""
    for number in range(count):
        file = folder / f"package-{number // _PER_FOLDER}" / f"module-{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"number = {number}\n" * 50)
    return folder


def compare(
    server: OneServer, rounds: int, ways: Mapping[str, Sequence[str]], before: str = "true"
) -> None:
    """Each of some commands, one after the other in each round.

    Args:
        server: Where.
        rounds: How often.
        ways: What is measured, by name.
        before: What is done in the server before each of them.
    """
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, command in ways.items():
            server.inside(before)
            found[name].append(server.seconds(*command))
    for name, each in found.items():
        spread = f"min {min(each):.2f}, max {max(each):.2f}"
        print(f"  {name:<22} median {statistics.median(each):6.2f} s, {spread}", flush=True)


def large_file(server: OneServer, megabytes: int, rounds: int) -> None:
    """One large file, there and back."""
    print(f"{megabytes} MiB in one file", flush=True)
    large, back = str(random_file(server.home / "large", megabytes)), str(server.home / "back")
    ways = {
        "devctl cp up": [DEVCTL, "cp", large, f"{NAME}:large"],
        "kubectl cp up": server.kubectl("cp", large, f"{POD}/large"),
        "devctl cp down": [DEVCTL, "cp", f"{NAME}:large", back],
        "kubectl cp down": server.kubectl("cp", f"{POD}/large", back),
    }
    compare(server, rounds, ways)


def small_files(server: OneServer, count: int, rounds: int) -> None:
    """Many small files that are not there yet."""
    print(f"{count} small files, none of them there", flush=True)
    project = str(many(server.home / "project", count))
    there = "rm -rf /home/dev/project"
    ways = {
        "devctl sync": [DEVCTL, "sync", NAME, project],
        "devctl cp": [DEVCTL, "cp", project, f"{NAME}:project"],
        "kubectl cp": server.kubectl("cp", project, f"{POD}/project"),
    }
    compare(server, rounds, ways, there)
    print(f"{count} small files, all of them there", flush=True)
    server.seconds(DEVCTL, "sync", NAME, project)
    compare(
        server,
        rounds,
        {
            "devctl sync": [DEVCTL, "sync", NAME, project],
            "devctl sync --from": [DEVCTL, "sync", NAME, project, "--from"],
            "kubectl cp": server.kubectl("cp", project, f"{POD}/project-too"),
        },
    )


def main() -> None:
    """Read the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    heading()
    with one_server(options.image) as server:
        large_file(server, options.megabytes, options.rounds)
        small_files(server, options.files, options.rounds)


if __name__ == "__main__":
    main()
