"""The stock ansible-runner against the warm one: seconds a run, runs a second, memory over many.

Prints figures and asserts none. Needs no cluster: runs are started as ansible-operator starts them
and their events taken down. The role is the real one, with a DevServer that asks for nothing.

usage: runner.py [--runs 30] [--memory-runs 10000]
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.runs import EventServer, Operator, operator_python

EMPTY = "- name: Say\n  ansible.builtin.debug:\n    msg: hello\n"
# In the operator's image `apply` is such an action; so processes do several runs here as well.
SETTINGS = {"DEVCTL_RUNNER_IN_PROCESS": "ansible.builtin.debug"}
KINDS = {"stock": (1, 2), "warm": (1, 2, 4)}


def machine() -> str:
    """The shape of this machine."""
    return f"{os.cpu_count()} cores, Linux {os.uname().release}, load {os.getloadavg()[0]:.1f}"


def throughput(operator: Operator, kind: str, role: Path, workers: int, runs: int) -> None:
    """One row: seconds of a run and runs a second with a number of workers."""
    with ThreadPoolExecutor(workers) as pool:
        started = time.monotonic()
        numbers = range(runs)
        results = list(pool.map(lambda n: operator.run(kind, role, name=f"{kind}{n}"), numbers))
        wall = time.monotonic() - started
    seconds = sorted(result.seconds for result in results)
    failed = sum(result.events[-1]["event"] != "playbook_on_stats" for result in results)
    print(
        f"{kind:<6}{workers:>8}{statistics.median(seconds):>10.3f}{seconds[-1]:>10.3f}"
        f"{runs / wall:>10.2f}{failed:>8}",
        flush=True,
    )


def memory(pid: int) -> dict[str, int]:
    """Memory of a process in KiB, from the kernel."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) for line in lines}


def largest_child(pid: int) -> int:
    """Private memory of the largest process that does runs, in KiB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = [memory(int(child)) for child in children]
    return max((each["Private_Dirty"] + each["Private_Clean"] for each in found), default=0)


def ask(operator: Operator, role: Path, name: str) -> None:
    """One run without a client's process: what is measured is the daemon."""
    folder = operator.folder / "runs" / name
    argv = operator.command("warm", role, folder, "1")[4:]
    environment = [f"{name}={value}" for name, value in operator.environment.items()]
    words = [str(len(argv)), *argv, str(operator.folder), *environment]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(str(operator.folder / "daemon/socket"))
        connection.send("\0".join(words).encode())
        message = b"accepted"
        while message == b"accepted":
            message = connection.recv(1 << 18)
    if not message.startswith(b"rc 0"):
        raise SystemExit(f"a run failed: {message!r}")


def over_time(operator: Operator, role: Path, runs: int, workers: int = 4) -> None:
    """The daemon's memory while it does many runs."""
    assert operator.daemon
    pid = operator.daemon.pid
    servers = []
    for worker in range(workers):
        operator.write(f"m{worker}", "1", {})
        servers.append(EventServer(operator.socket(f"m{worker}", "1")).__enter__())

    def work(worker: int) -> None:
        for _ in range(runs // workers // 10):
            ask(operator, role, f"m{worker}")
            servers[worker].events.clear()

    heads = ("runs", "Rss KiB", "Pss KiB", "largest run KiB", "open files", "runs/s")
    print("\n" + "".join(f"{head:>17}" for head in heads))
    with ThreadPoolExecutor(workers) as pool:
        for part in range(11):
            started = time.monotonic()
            if part:
                list(pool.map(work, range(workers)))
            rate = runs / 10 / (time.monotonic() - started) if part else 0
            found = memory(pid)
            files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            row = (part * runs // 10, found["Rss"], found["Pss"], largest_child(pid), files)
            print("".join(f"{cell:>17}" for cell in row) + f"{rate:>17.1f}", flush=True)
    for server in servers:
        server.__exit__()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--memory-runs", type=int, default=10_000)
    options = parser.parse_args()
    print(f"machine: {machine()}")
    with tempfile.TemporaryDirectory() as folder:
        operator = Operator(Path(folder), operator_python(), SETTINGS)
        role = operator.folder / "roles/say"
        (role / "tasks").mkdir(parents=True)
        (role / "tasks/main.yml").write_text(EMPTY)
        try:
            operator.start(role)
            if options.runs:
                heads = "".join(f"{head:>10}" for head in ("p50 s", "max s", "runs/s"))
                print(f"\n{'runner':<6}{'workers':>8}{heads}{'failed':>8}")
                for kind, workers in KINDS.items():
                    for count in workers:
                        throughput(operator, kind, role, count, options.runs)
            if options.memory_runs:
                over_time(operator, role, options.memory_runs)
        finally:
            operator.stop()


if __name__ == "__main__":
    main()
