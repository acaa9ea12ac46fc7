"""Inference jobs: what a job takes beside the bare pod that does the same, one and many at once.

Prints figures and asserts none. Works in namespaces of its own, which it deletes, in the cluster of
KUBECONFIG, where the operator is deployed. A bare pod has a claim of its own, as a job's pod has.

usage: jobs.py IMAGE [--rounds 6] [--jobs 50] [--command true]
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import time
from typing import Any
from uuid import uuid4

from devctl.api.ephemeral_acceleration_job import GROUP, KIND, VERSION
from devctl.local.paths import cache_paths
from devctl.local.status import find_kubectl

# Short, because a bench that waits for ever says nothing.
PATIENCE = 600
SMALL = {"cpu": "20m", "memory": "32Mi"}
Manifest = dict[str, Any]


def program() -> str:
    """The kubectl to call."""
    found = find_kubectl(cache_paths()) or shutil.which("kubectl")
    assert found
    return str(found)


def kubectl(*arguments: str, text: str | None = None) -> str:
    """What kubectl prints."""
    return subprocess.run(
        [program(), *arguments], input=text, capture_output=True, text=True, check=True
    ).stdout


def job(name: str, image: str, command: list[str]) -> list[Manifest]:
    """A job; pod and claim are the operator's."""
    spec = {
        "image": image,
        "command": command,
        "pvcSize": "1Mi",
        "resources": SMALL | {"gpu": 0},
        "ttlSecondsAfterFinished": 600,
    }
    metadata = {"name": name}
    return [{"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "metadata": metadata, "spec": spec}]


def bare(name: str, image: str, command: list[str]) -> list[Manifest]:
    """The same without a job."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }
    container = {
        "name": "main",
        "image": image,
        "command": command,
        "resources": {"requests": SMALL, "limits": {"memory": SMALL["memory"]}},
        "volumeMounts": [{"name": "artifacts", "mountPath": "/artifacts"}],
    }
    volume = {"name": "artifacts", "persistentVolumeClaim": {"claimName": name}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "containers": [container], "volumes": [volume]},
    }
    return [claim, pod]


SHAPES = {"job": ("eaj", job), "bare pod": ("pod", bare)}


def measure(shape: str, count: int, image: str, command: list[str]) -> tuple[float, int]:
    """Seconds from `kubectl apply` until all have succeeded, and how many did."""
    kind, manifests = SHAPES[shape]
    namespace = f"bench-{uuid4().hex[:6]}"
    kubectl("create", "namespace", namespace)
    items = [thing for n in range(count) for thing in manifests(f"b-{n}", image, command)]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    begun = time.monotonic()
    kubectl("-n", namespace, "apply", "--server-side", "-f", "-", text=json.dumps(listed))
    done = succeeded(namespace, kind, count)
    seconds = time.monotonic() - begun
    if kind == "eaj":
        kubectl("-n", namespace, "delete", kind, "--all")
    # Waited for: what is on its way out would slow what is measured next.
    kubectl("delete", "namespace", namespace)
    return seconds, done


def succeeded(namespace: str, kind: str, count: int) -> int:
    """Wait for all to succeed by one watch, which costs the machine least; how many did."""
    template = 'jsonpath={.metadata.name} {.status.phase}{"\\n"}'
    watching = ["timeout", str(PATIENCE), program(), "-n", namespace, "get", kind, "--watch"]
    done: set[str] = set()
    with subprocess.Popen(
        [*watching, "-o", template], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            name, _, phase = line.strip().partition(" ")
            if phase == "Succeeded":
                done.add(name)
            if len(done) == count:
                break
        process.terminate()
    return len(done)


def main() -> None:
    """Read the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--command", default="true")
    options = parser.parse_args()
    command = shlex.split(options.command)
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, Linux {os.uname().release}, load {load:.1f} at the start")
    one: dict[str, list[float]] = {shape: [] for shape in SHAPES}
    for _ in range(options.rounds):
        for shape, seconds in one.items():
            seconds.append(measure(shape, 1, options.image, command)[0])
    for shape, seconds in one.items():
        figures = f"min {min(seconds):.1f}, median {statistics.median(seconds):.1f}"
        print(f"one {shape}: {figures}, max {max(seconds):.1f} s", flush=True)
    middle = {shape: statistics.median(seconds) for shape, seconds in one.items()}
    print(f"a job takes {middle['job'] / middle['bare pod']:.2f} times a bare pod", flush=True)
    for shape in SHAPES:
        seconds_all, done = measure(shape, options.jobs, options.image, command)
        rate = f"{done / seconds_all * 60:.0f} a minute"
        print(f"{options.jobs} {shape}s: {done} done in {seconds_all:.1f} s, {rate}", flush=True)


if __name__ == "__main__":
    main()
