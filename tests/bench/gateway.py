"""The GPU workers API under load: one replica with PostgreSQL, and what a bare FastAPI answers.

Prints figures and asserts none. Makes a control plane of its own, as tests/plane has it, without
operator and observer: jobs get their objects, and wait. API server, etcd, PostgreSQL and the load
generator share the machine with the gateway. Needs root.

usage: gateway.py [--python PATH] [--processes 2] [--jobs 2000] [--seconds 60] [--reads 500]
    [--submissions 50]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))
import httpx2
from bench import cpu, memory
from bench.gateway_history import remember, run_some
from bench.gateway_requests import Users, reads, submissions
from bench.image_python import image_python
from bench.many import control_plane
from bench.vegeta import AS_FAST_AS_ANSWERED, Ask, Attack, ensure_vegeta
from support.gateway_place import Agent, granted
from support.gateway_process import GatewayProcess, free_port
from support.plane import content
from support.plane.process import Process
from support.postgres_process import PostgresProcess, ensure_postgres
from support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES = ("plane-1", "plane-2", "plane-3", "plane-4")
MOST_SECONDS = 5
"""How long it is asked as fast as it answers."""
_ENOUGH = 20_000
"""Submissions of which none has the Idempotency-Key of another, whatever the rate."""


@contextmanager
def a_hello(python: Path, folder: Path) -> Iterator[tuple[str, int]]:
    """A bare FastAPI; its address and its process."""
    port = free_port()
    process = Process((python, Path(__file__).with_name("hello.py"), str(port)), folder / "hello")
    code = Path(__file__).parents[2]
    process.env = os.environ | {"PYTHONPATH": f"{code}:{code / 'images' / 'gateway'}"}
    process.start()
    url = f"http://127.0.0.1:{port}/"
    wait_until(lambda: _answers(url), process.tail)
    yield url, process.pid
    process.stop()


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url).is_success
    except httpx2.HTTPError:
        return False


@contextmanager
def a_gateway(python: Path, processes: int, jobs: int, folder: Path) -> Iterator[Users]:
    """One replica with what it has seen; its users."""
    with control_plane() as plane, granted(plane.kubectl), ExitStack() as ends:
        for number, node in enumerate(NODES[len(content.NODES) :], len(content.NODES)):
            plane.kubectl.api.create(content.node(node, number))
        database = PostgresProcess()
        ends.callback(database.remove)
        database.start()
        url = database.database()
        # Long, as nobody plays the agents.
        settings = {"heartbeat_seconds": 3600, "processes": processes}
        gateway = GatewayProcess(plane, folder, url, python=python, **settings)
        migrated = gateway.run("migrate")
        if migrated.returncode:
            sys.exit(migrated.stderr)
        ends.callback(gateway.stop)
        gateway.start()
        for node in NODES:
            Agent(gateway, node).report(gateway)
        users = Users(gateway, database)
        history = asyncio.run(remember(url, users.accounts, jobs, [*NODES]))
        users.jobs = history.jobs
        run_some(plane.kubectl.api, history.waiting, NODES[0])
        print(f"{jobs} jobs of {len(users.accounts)} accounts, {len(history.waiting)} of them open")
        yield users


def most(folder: Path, what: str, pid: int, asks: list[Ask], hello: float = 0) -> float:
    """Ask a process as fast as it answers, and print how fast that is; answers a second."""
    name = what.replace(" ", "-")
    for seconds in (1, MOST_SECONDS):  # the first one warms up
        before = _spent(pid)
        attack = Attack(folder, name, asks, rate=AS_FAST_AS_ANSWERED, seconds=seconds)
        attack.wait()
        spent, figures = _spent(pid) - before, attack.figures()
    each = f", {spent / figures.answered * 1000:.2f} ms of CPU each"
    ratio = f", {figures.rate / hello:.2f} of hello" if hello else ""
    print(f"{what}: {figures}{ratio}{each}", flush=True)
    return figures.rate


def _spent(pid: int) -> float:
    """CPU seconds of a program, whose processes all go on."""
    return sum(map(cpu.spent, memory.below(pid)))


def _processes(users: Users) -> set[int]:
    """What this program has started, and PostgreSQL, which is a child of nobody's."""
    return {*memory.below(os.getpid()), *memory.below(users.database.pid)}


def together(folder: Path, users: Users, given: argparse.Namespace) -> None:
    """Read and submit at constant rates at the same time, and print what became of it."""
    before, began = cpu.seconds(_processes(users)), time.monotonic()
    load = resource.getrusage(resource.RUSAGE_CHILDREN)
    attacks = {
        f"{rate} {what} a second": Attack(folder, what, asks, rate=rate, seconds=given.seconds)
        for what, rate, asks in (
            ("reads", given.reads, [ask for each in reads(users).values() for ask in each]),
            ("submissions", given.submissions, submissions(users, range(_ENOUGH, 2 * _ENOUGH))),
        )
    }
    for attack in attacks.values():
        attack.wait()
    seconds, after = time.monotonic() - began, cpu.seconds(_processes(users))
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = {name: after[name] - before.get(name, 0.0) for name in after}
    used["load generator"] = now.ru_utime + now.ru_stime - load.ru_utime - load.ru_stime
    for what, attack in attacks.items():
        print(f"together, {what}: {attack.figures()}")
    cores = sorted(used.items(), key=lambda entry: -entry[1])
    said = ", ".join(f"{name} {spent / seconds:.2f}" for name, spent in cores if spent > 0.1)
    print(f"cores meanwhile: {said}; load {os.getloadavg()[0]:.1f}", flush=True)


def measure(users: Users, hello: tuple[str, int], folder: Path, given: argparse.Namespace) -> None:
    """Print the figures."""
    url, pid = hello
    bare = most(folder, "hello", pid, [Ask("GET", url)])
    for what, asks in reads(users).items():
        most(folder, what, users.pid, asks, bare)
    together(folder, users, given)
    # Last, as the cluster gets the objects of these for a while.
    most(folder, "submissions", users.pid, submissions(users, range(_ENOUGH)), bare)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, help="default: that of the gateway's image")
    defaults = {"processes": 2, "jobs": 2000, "seconds": 60, "reads": 500, "submissions": 50}
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    ensure_vegeta()
    ensure_postgres()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start", flush=True)
    with tempfile.TemporaryDirectory(prefix="devctl-bench-") as name:
        folder = Path(name)
        python = given.python or image_python("gateway", folder)
        with (
            a_gateway(python, given.processes, given.jobs, folder) as users,
            a_hello(python, folder) as hello,
        ):
            measure(users, hello, folder, given)


if __name__ == "__main__":
    main()
