"""Many DevServers at once: how fast the operator answers them, and how soon they run.

Prints figures and asserts none. Works in namespaces of its own, which it deletes, in the cluster
of KUBECONFIG, where the operator is deployed and nobody else's servers are. The stock runner is
measured by switching the warm one off in the operator's deployment, and on again afterwards.

usage: devservers.py IMAGE [--servers 100] [--stock 30] [--running 100]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench import cpu

from devctl.api.labels import GROUP, MANAGED_BY, MANAGER, VERSION
from devctl.local.paths import cache_paths
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    from collections.abc import Callable

SYSTEM = ("-n", "devctl-system")
OPERATOR = "deployment/devctl-operator"
SELECTOR = ("-l", f"{MANAGED_BY}={MANAGER}")
CHILDREN = "statefulset,service,configmap,secret,persistentvolumeclaim"
# Short, because a bench that waits for ever says nothing.
PATIENCE = 600.0
# Until the processes of the last runs have ended and are counted.
SETTLE = 5.0
Manifest = dict[str, Any]


def kubectl(*arguments: str, text: str | None = None) -> str:
    """What kubectl prints."""
    program = find_kubectl(cache_paths()) or shutil.which("kubectl")
    assert program
    return subprocess.run(
        [program, *arguments], input=text, capture_output=True, text=True, check=True
    ).stdout


def flavor(name: str) -> Manifest:
    """Small enough for a hundred on one machine."""
    resources = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "DevServerFlavor",
        "metadata": {"name": name},
        "spec": {"resources": resources},
    }


def server(namespace: str, number: int, image: str, *, stopped: bool) -> Manifest:
    """One of many."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "DevServer",
        "metadata": {"name": f"server-{number}", "namespace": namespace},
        "spec": {
            "owner": "bench",
            "flavor": namespace,
            "image": image,
            "persistentHomeSize": "1Mi",
            "stopped": stopped,
        },
    }


def begin(count: int, image: str, *, stopped: bool) -> tuple[str, float]:
    """Apply so many servers with one command; their namespace, and when the command began."""
    namespace = f"bench-{uuid4().hex[:6]}"
    kubectl("create", "namespace", namespace)
    items = [server(namespace, number, image, stopped=stopped) for number in range(count)]
    listed = {"apiVersion": "v1", "kind": "List", "items": [flavor(namespace), *items]}
    started = time.monotonic()
    kubectl("apply", "--server-side", "-f", "-", text=json.dumps(listed))
    return namespace, started


def end(namespace: str) -> None:
    """Delete all of it, servers first."""
    kubectl("-n", namespace, "delete", "devserver", "--all", "--wait=false")
    wait(lambda: not kubectl("-n", namespace, "get", "statefulset,pod", "-o", "name").strip())
    kubectl("delete", "devserverflavor", namespace)
    kubectl("delete", "namespace", namespace)


def wait(true: Callable[[], bool], pause: float = 0.5) -> bool:
    """Whether it became so in time; each look costs the machine that is measured something."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def count(namespace: str, kind: str, path: str, value: str) -> int:
    """How many objects have a value at a path."""
    template = f"jsonpath={{range .items[*]}}{{{path}}} {{end}}"
    return kubectl("-n", namespace, "get", kind, "-o", template).split().count(value)


def await_applied(namespace: str, servers: int) -> bool:
    """Whether every server got all of its children: the condition is the last thing written.

    One watch, since looking again and again would cost the machine that is measured.
    """
    program = find_kubectl(cache_paths()) or shutil.which("kubectl")
    template = '{.metadata.name} {.status.conditions[?(@.type=="Applied")].status}{"\\n"}'
    options = ["get", "devserver", "--watch", "-o", f"jsonpath={template}"]
    done: set[str] = set()
    with subprocess.Popen(
        ["timeout", str(PATIENCE), str(program), "-n", namespace, *options],
        stdout=subprocess.PIPE,
        text=True,
    ) as watch:
        assert watch.stdout
        for line in watch.stdout:
            name, _, status = line.strip().partition(" ")
            if status == "True":
                done.add(name)
            if len(done) == servers:
                break
        watch.terminate()
    return len(done) == servers


def versions(namespace: str) -> dict[str, str]:
    """Every child and its resourceVersion."""
    template = (
        "jsonpath={range .items[*]}{.kind}/{.metadata.name}={.metadata.resourceVersion} {end}"
    )
    found = kubectl("-n", namespace, "get", CHILDREN, *SELECTOR, "-o", template)
    return dict(entry.split("=", 1) for entry in found.split())


def memory() -> str:
    """What the operator and the observer use, as the metrics API says it."""
    lines = kubectl("top", "pod", *SYSTEM, "--containers", "--no-headers").splitlines()
    return ", ".join(f"{line.split()[1]} {line.split()[3]}" for line in lines)


def runner(*setting: str) -> None:
    """Switch the warm runner, and wait for the operator that goes by it."""
    kubectl("set", "env", *SYSTEM, OPERATOR, *setting)
    kubectl("rollout", "status", *SYSTEM, OPERATOR, "--timeout=120s")


def reconcile(kind: str, servers: int, image: str, *, again: bool) -> float:
    """One row: servers a second from `kubectl apply` to the last child."""
    # A new operator waits for the lease of the one before, fills its cache, and warms up.
    first, _ = begin(1, image, stopped=True)
    await_applied(first, 1)
    end(first)
    time.sleep(SETTLE)
    used = cpu.seconds()
    namespace, started = begin(servers, image, stopped=True)
    complete = await_applied(namespace, servers)
    seconds = time.monotonic() - started
    before = versions(namespace)
    time.sleep(SETTLE)
    print(
        f"{kind:<6}{servers:>8} servers {len(before):>5} children {seconds:>7.1f} s"
        f" {servers / seconds:>6.2f} a second{'' if complete else '  NOT COMPLETE'}",
        flush=True,
    )
    print(cpu.report(used, cpu.seconds(), servers), flush=True)
    if again:
        second_pass(servers, before, namespace)
    end(namespace)
    return servers / seconds


def second_pass(servers: int, before: dict[str, str], namespace: str) -> None:
    """What a new operator, which runs the role for every server, changes."""
    started = time.monotonic()
    kubectl("rollout", "restart", *SYSTEM, OPERATOR)
    kubectl("rollout", "status", *SYSTEM, OPERATOR, "--timeout=120s")
    component = "app.kubernetes.io/component=operator"
    wait(lambda: kubectl("get", "pod", *SYSTEM, "-l", component, "-o", "name").count("pod/") == 1)

    def runs() -> int:
        """How many runs the new operator's runner has made."""
        pods = kubectl("get", "pod", *SYSTEM, "-l", component, "-o", "name").split()
        pod = pods[-1].partition("/")[2]
        path = f"/api/v1/namespaces/{SYSTEM[1]}/pods/{pod}:8082/proxy/metrics"
        done = re.findall(r"runs_total\{.*\} (\S+)", kubectl("get", "--raw", path))
        return int(sum(map(float, done)))

    wait(lambda: runs() >= servers, pause=2)
    after = versions(namespace)
    writes = sum(after.get(name) != version for name, version in before.items())
    print(
        f"second pass: {runs()} runs within {time.monotonic() - started:.0f} s of a new operator,"
        f" {writes} of {len(before)} children written; memory: {memory()}",
        flush=True,
    )


def bare(servers: int, image: str) -> None:
    """The same children from one `kubectl apply`, without servers: what no operator can beat."""
    namespace, _ = begin(servers, image, stopped=True)
    await_applied(namespace, servers)
    found = json.loads(kubectl("-n", namespace, "get", CHILDREN, *SELECTOR, "-o", "json"))
    other = f"bench-{uuid4().hex[:6]}"
    kubectl("create", "namespace", other)
    items = [copy_of(child, other) for child in found["items"]]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    time.sleep(SETTLE)
    used, started = cpu.seconds(), time.monotonic()
    kubectl("apply", "--server-side", "-f", "-", text=text)
    seconds = time.monotonic() - started
    time.sleep(SETTLE)
    print(
        f"kubectl alone: {len(items)} children {seconds:.1f} s {servers / seconds:.2f} a second",
        cpu.report(used, cpu.seconds(), servers),
        sep="\n",
        flush=True,
    )
    kubectl("delete", "namespace", other)
    end(namespace)


def copy_of(child: Manifest, namespace: str) -> Manifest:
    """A child as it was applied, for another namespace."""
    kept = {key: value for key, value in child.items() if key != "status"}
    metadata = {key: child["metadata"].get(key) or {} for key in ("labels", "annotations")}
    name = child["metadata"]["name"]
    return kept | {"metadata": metadata | {"name": name, "namespace": namespace}}


def observer_alone(servers: int) -> None:
    """How soon a change of a pod is in its server's status, while no role runs."""
    kubectl("scale", *SYSTEM, OPERATOR, "--replicas=0")
    component = "app.kubernetes.io/component=operator"
    kubectl("wait", "pod", *SYSTEM, "-l", component, "--for=delete", "--timeout=60s")
    # A process of its own: another client, and nothing of ours beside it.
    program = Path(__file__).with_name("observer.py")
    many = str(servers)
    try:
        subprocess.run([sys.executable, program, "--pods", many, "--servers", many], check=True)
    finally:
        kubectl("scale", *SYSTEM, OPERATOR, "--replicas=1")
        kubectl("rollout", "status", *SYSTEM, OPERATOR, "--timeout=120s")


def run_all(servers: int, image: str) -> None:
    """Servers with pods: how soon all of them are ready."""
    namespace, started = begin(servers, image, stopped=False)
    path = '.status.conditions[?(@.type=="Ready")].status'
    marks: list[str] = []
    for part in (1, servers // 2, servers):
        reached = wait(lambda part=part: count(namespace, "devserver", path, "True") >= part)  # type: ignore[misc]
        marks.append(f"{part} after {time.monotonic() - started:.1f} s" if reached else "never all")
    failed = count(namespace, "devserver", ".status.phase", "Failed")
    restarts = kubectl(
        *("-n", namespace, "get", "pod", "-o"),
        "jsonpath={range .items[*]}{.status.containerStatuses[0].restartCount} {end}",
    )
    again = sum(map(int, restarts.split()))
    print(
        f"running: {', '.join(marks)}; {failed} failed, {again} restarts; memory: {memory()}",
        flush=True,
    )
    end(namespace)


def main() -> None:
    """Read the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image")
    parser.add_argument("--servers", type=int, default=100)
    parser.add_argument("--stock", type=int, default=30)
    parser.add_argument("--running", type=int, default=100)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, Linux {os.uname().release}, load {load:.1f} at the start")
    warm = reconcile("warm", options.servers, options.image, again=True)
    if options.stock:
        runner("DEVCTL_RUNNER_MAX_RUNS=0")
        try:
            stock = reconcile("stock", options.stock, options.image, again=False)
            print(f"warm is {warm / stock:.1f} times as fast as stock")
        finally:
            runner("DEVCTL_RUNNER_MAX_RUNS-")
    bare(options.servers, options.image)
    if options.running:
        run_all(options.running, options.image)
    observer_alone(options.servers)


if __name__ == "__main__":
    main()
