"""A thousand DevServers among five thousand pods of others: what a restart of the operator costs.

Prints figures and asserts none. Makes a control plane of its own, as tests/plane has it: no
container runs, so memory and CPU are those of operator, observer and Kubernetes alone. Needs root.

usage: many.py [--servers 1000] [--pods 5000] [--restarts 3]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench import cpu, memory
from bench.observer import gather, latencies, pod
from lightkube import AsyncClient
from support.plane import content
from support.plane.fixtures import VERSION
from support.plane.pki import Pki
from support.plane.plane import SYSTEM, Plane
from support.plane.programs import ensure_programs
from support.plane.scenarios import END
from support.rights import leases
from support.runs import operator_python
from support.servers import SMALL, DevServer, apply_flavor, is_current, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

Thing = dict[str, Any]
NAMESPACE, FLAVOR, OTHERS = "bench", "bench", "others"
BATCH = 100
CHILDREN = "statefulset,service,configmap,secret,persistentvolumeclaim"
PODS_A_NODE = 200
CHANGED = 100
# Short, because a bench that waits for ever says nothing.
PATIENCE = 1200.0


@contextmanager
def control_plane() -> Iterator[Plane]:
    """A control plane, without operator and observer."""
    programs = ensure_programs()
    python = operator_python()
    with tempfile.TemporaryDirectory(prefix="devctl-bench-") as name:
        folder = Path(name)
        pki = Pki(folder / "pki")
        pki.make(programs["kubernetes"] / "kubeadm", VERSION)
        own = folder / "plane"
        own.mkdir()
        made = Plane(programs, python, pki, own)
        try:
            made.start()
            yield made
        finally:
            made.stop()


@contextmanager
def a_plane() -> Iterator[Plane]:
    """A control plane with operator and observer at work."""
    with control_plane() as made:
        made.observer.start(lambda: made.observer.identity in leases(made.kubectl, SYSTEM))
        made.operator.start()
        yield made


def apply(plane: Plane, *items: Thing) -> None:
    """Apply many objects with one command."""
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    plane.kubectl("apply", "--server-side", "-f", "-", input=listed)


def others(plane: Plane, count: int) -> None:
    """Make nodes, and pods on them that are nobody's whom we know."""
    for number in range(-(-count // PODS_A_NODE)):
        plane.kubectl.api.create(content.node(f"others-{number}", number + 2))
    apply(plane, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OTHERS}})
    account = ("serviceaccount", "default", OTHERS)
    wait_until(lambda: plane.kubectl.api.get(*account) is not None, "pods have an account")
    for number in range(count):
        plane.kubectl.api.create(foreign(number))


def foreign(number: int) -> Thing:
    """A pod of somebody else's: two containers and their environment."""
    environment = [{"name": f"NAME_{n}", "value": "x" * 20} for n in range(20)]
    requests = {"cpu": "1m", "memory": "1Mi"}
    containers = [
        {
            "name": name,
            "image": f"{name}:1",
            "env": environment,
            "resources": {"requests": requests},
        }
        for name in ("main", "sidecar")
    ]
    metadata = {
        "name": f"pod-{number}",
        "namespace": OTHERS,
        "labels": {"app": f"app-{number % 50}"},
        # Nothing that happens to a pod: thousands would keep kwok and the API server busy.
        "annotations": {END: "none"},
    }
    spec = {"nodeName": f"others-{number // PODS_A_NODE}", "containers": containers}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def server(plane: Plane, name: str) -> DevServer:
    """One server, not made yet."""
    spec = {
        "owner": "bench",
        "flavor": FLAVOR,
        "image": "none/serve:1",
        "persistentHomeSize": "1Mi",
    }
    return DevServer(plane.kubectl, NAMESPACE, spec, name)


def await_applied(plane: Plane, wanted: set[str]) -> None:
    """Wait for the last thing that is written for each server; one watch, as looking costs."""
    for _, found in plane.kubectl.api.watch("devserver", NAMESPACE, PATIENCE):
        if is_current(found, "Applied", "True"):
            wanted.discard(found["metadata"]["name"])
        if not wanted:
            return
    print(f"{len(wanted)} servers are not answered")


def batch(plane: Plane, first: int, *, stopped: bool, count: int = BATCH) -> float:
    """Make so many servers at once; how many a second, from `kubectl apply` to the last child."""
    made = [server(plane, f"server-{first + number}") for number in range(count)]
    began = time.monotonic()
    apply(plane, *(each.manifest(stopped=stopped) for each in made))
    await_applied(plane, {each.name for each in made})
    return count / (time.monotonic() - began)


def make(plane: Plane, firsts: range, *, stopped: bool) -> None:
    """Make hundred after hundred, and say how fast that was."""
    cost = cpu.seconds(memory.below(os.getpid()))
    rates = [batch(plane, first, stopped=stopped) for first in firsts]
    settle(plane)
    said = ", ".join(f"{rate:.2f}" for rate in rates)
    print(
        f"{BATCH} {'stopped' if stopped else 'running'} servers at once, answered a second:"
        f" median {statistics.median(rates):.2f} ({said})",
        f"  {cpu.report(cost, cpu.seconds(memory.below(os.getpid())), len(rates) * BATCH)}",
        sep="\n",
        flush=True,
    )


def runs(plane: Plane) -> int:
    """How many runs the operator's runner has ended."""
    return int(sum(n for name, n in plane.operator.runs().items() if name.startswith("runs_")))


def settle(plane: Plane) -> None:
    """Wait until no run begins or goes on for some seconds."""
    before = -1
    while (now := runs(plane)) != before or plane.operator.runs()["running"]:
        before = now
        time.sleep(5)


def versions(plane: Plane) -> dict[str, str]:
    """Every child and its resourceVersion."""
    return {
        f"{thing['kind']}/{thing['metadata']['name']}": thing["metadata"]["resourceVersion"]
        for thing in plane.kubectl.api.list(CHILDREN, NAMESPACE)
    }


def used(plane: Plane) -> str:
    """The memory of operator and observer, in words."""
    return memory.report(
        {
            "ansible-operator": [plane.operator.operator.pid],
            "warm runner and its runs": memory.below(plane.operator.runner.pid),
            "observer": [plane.observer.pid],
        }
    )


def restart(plane: Plane, number: int) -> None:
    """Kill the operator, start it, ask it for a new server, and wait for all old ones."""
    servers = len(plane.kubectl.api.list("devserver", NAMESPACE))
    before = versions(plane)
    plane.operator.kill()
    plane.operator.start()
    began, cost = time.monotonic(), cpu.seconds(memory.below(os.getpid()))
    wait_until(lambda: runs(plane) > 0, "the first run ends")
    new = server(plane, f"new-{number}")
    asked = time.monotonic()
    new.apply(stopped=True)
    await_applied(plane, {new.name})
    answered, until_then = time.monotonic() - asked, runs(plane)
    wait_until(lambda: runs(plane) > servers, "all are looked at", PATIENCE)
    seconds = time.monotonic() - began
    spent = cpu.report(cost, cpu.seconds(memory.below(os.getpid())), servers)
    settle(plane)
    after = versions(plane)
    changed = sum(after.get(name) != version for name, version in before.items())
    print(
        f"restart {number}: a new server is answered after {answered:.1f} s and {until_then} runs;"
        f" all {servers} old ones after {seconds:.1f} s;"
        f" {changed} of {len(before)} children written",
        f"  {spent}",
        f"  memory: {used(plane)}",
        sep="\n",
        flush=True,
    )


async def statuses(plane: Plane, name: str, pause: float) -> None:
    """How soon a change of a pod is in its server's status, while the operator looks at all."""
    client = AsyncClient(field_manager="devctl-bench")
    names = [f"{name}-{number}" for number in range(CHANGED)]
    # Without a flavor, they get no pods but these.
    apply(plane, *(server(plane, each).manifest(flavor="none") for each in names))
    await gather(client.create(pod(NAMESPACE, each)) for each in names)
    plane.operator.kill()
    await quiet(plane)
    plane.operator.start()
    wait_until(lambda: runs(plane) > 0, "the first run ends")
    found = await latencies(client, NAMESPACE, names, pause)
    how = f"one each {pause * 1000:.0f} ms" if pause else "all at once"
    middle, late = found[len(found) // 2], found[int(len(found) * 0.99) - 1]
    print(
        f"{len(found)} changes of pods to status, {how}, while the operator looks at all:"
        f" p50 {middle * 1000:.0f} ms, p99 {late * 1000:.0f} ms; {runs(plane)} runs meanwhile",
        flush=True,
    )
    for each in names:
        plane.kubectl.api.delete("devserver", each, NAMESPACE)
        plane.kubectl.api.delete("pod", f"{each}-0", NAMESPACE)


async def quiet(plane: Plane) -> None:
    """Wait until the observer has written all that it has to say."""
    before = -1.0
    while (now := written(plane)) != before:
        before = now
        await asyncio.sleep(3)


def written(plane: Plane) -> float:
    """How many statuses the observer has written."""
    figures = plane.observer.figures()
    return sum(count for name, count in figures.items() if name.startswith("status_writes_"))


def measure(plane: Plane, servers: int, pods: int, restarts: int) -> None:
    """Make everything and print the figures."""
    os.environ["KUBECONFIG"] = str(plane.kubeconfig)
    print(f"nothing there: memory: {used(plane)}", flush=True)
    if pods:
        others(plane, pods)
        print(f"{pods} pods of others: memory: {used(plane)}", flush=True)
    apply(plane, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    apply_flavor(plane.kubectl, FLAVOR, resources=SMALL)
    half = servers // 2
    for first, last, stopped in ((0, half, True), (half, servers, False)):
        make(plane, range(first, last, BATCH), stopped=stopped)
    print(f"{servers} servers, half of them stopped: memory: {used(plane)}", flush=True)
    for number in range(restarts):
        restart(plane, number)
    if restarts:
        asyncio.run(statuses(plane, "at-once", 0))
        asyncio.run(statuses(plane, "in-turn", 0.1))
        print(f"in the end: memory: {used(plane)}", flush=True)


def main() -> None:
    """Read the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=1000, help="a multiple of 200")
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--restarts", type=int, default=3)
    options = parser.parse_args()
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    print(
        f"{os.cpu_count()} cores, {total} GiB, Linux {os.uname().release},"
        f" load {os.getloadavg()[0]:.1f} at the start",
        flush=True,
    )
    with a_plane() as plane:
        measure(plane, options.servers, options.pods, options.restarts)


if __name__ == "__main__":
    main()
