"""How soon commands answer: help, imports, a list beside one request, and a list of many servers.

Prints figures and asserts none. The servers of the long list are stopped and have no pods, but the
operator looks at each of them; they are in a namespace of the bench's own, which it deletes.

usage: commands.py [--rounds 8] [--servers 1000], with PYTHONPATH=tests
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from bench.one_server import DEVCTL, heading, kubectl, manifest, own_namespace

from devctl import Client

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_ONCE = 100
_MILLISECONDS = 1000


def measure(name: str, rounds: int, work: Callable[[], object]) -> float:
    """Do something several times, the first time for nothing, and print how long it takes."""
    work()
    found = []
    for _ in range(rounds):
        begun = time.monotonic()
        work()
        found.append((time.monotonic() - begun) * _MILLISECONDS)
    middle = statistics.median(found)
    print(f"{name:<34} median {middle:6.0f} ms, min {min(found):.0f}, max {max(found):.0f}")
    sys.stdout.flush()
    return middle


def command(*argv: str) -> Callable[[], object]:
    """A program's run, without its output."""
    return lambda: subprocess.run(argv, check=True, capture_output=True, stdin=subprocess.DEVNULL)


def one_request(namespace: str) -> None:
    """A connection, and the one request that a list is made of."""
    Client(namespace=namespace).servers.list()


def make_servers(namespace: str, count: int) -> None:
    """Stopped servers, some at once, so that no request is too large."""
    for begin in range(0, count, _AT_ONCE):
        items = [
            manifest(
                "DevServer",
                f"many-{number}",
                namespace,
                owner="bench",
                flavor=namespace,
                image="none:1",
                persistentHomeSize="1Mi",
                stopped=True,
            )
            for number in range(begin, min(begin + _AT_ONCE, count))
        ]
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        kubectl("apply", "--server-side", "-f", "-", text=json.dumps(listed))


def main() -> None:
    """Read the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--servers", type=int, default=1000)
    options = parser.parse_args()
    rounds = options.rounds
    heading()
    python = sys.executable
    measure("python -c pass", rounds, command(python, "-c", "pass"))
    measure("import devctl.cli.main", rounds, command(python, "-c", "import devctl.cli.main"))
    measure("devctl --help", rounds, command(DEVCTL, "--help"))
    with own_namespace() as namespace:
        lists = (DEVCTL, "list", "-n", namespace)
        request = measure("one request, in process", rounds, lambda: one_request(namespace))
        whole = measure("devctl list, no server", rounds, command(*lists))
        print(f"devctl list takes {whole - request:.0f} ms beside its request")
        if options.servers:
            make_servers(namespace, options.servers)
            measure(f"devctl list, {options.servers} servers", rounds, command(*lists))
            names = command(*lists, "-o", "name")
            measure(f"devctl list -o name, {options.servers}", rounds, names)


if __name__ == "__main__":
    main()
