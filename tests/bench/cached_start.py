"""A large image on the last node: from a pod's creation until it has run, cold and from the cache.

Prints figures and asserts none. Needs a local cluster with the parts `cache` and `stores`, and
devctl deployed. Each start has an image of its own, with random content, which is pushed to the
cluster's registry first and deleted in the end.

usage: cached_start.py [--cluster devctl] [--megabytes 1500] [--rounds 1]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from support.cache_plans import image, only
from support.caches import Caches
from support.commands import Kubectl

from devctl.local import build
from devctl.local.cluster import existing
from devctl.local.namespaces import enter
from devctl.local.paths import cache_paths
from devctl.local.status import find_kubectl
from devctl.local.steps import PROGRAMS_IN_NODE


def push(caches: Caches, length: int) -> str:
    """Push another image; its reference."""
    with tempfile.TemporaryDirectory(dir=caches.paths.root) as folder:
        return replace(caches, folder=Path(folder)).push(f"bench/{uuid4().hex[:6]}", length)


def start(caches: Caches, ref: str, policy: str) -> float:
    """Seconds until a pod of an image has run."""
    begun = time.monotonic()
    name = caches.start(caches.last, ref, policy)
    seconds = time.monotonic() - begun
    caches.kubectl("-n", caches.namespace, "delete", "pod", name)
    return seconds


def remove(caches: Caches, ref: str) -> None:
    """Remove an image from the node and from the registry."""
    group = build.describe(cache_paths())[0]["containerd"]
    program = PROGRAMS_IN_NODE / group.folder(cache_paths()).name / "ctr"
    inside = enter(caches.paths.node(caches.last))
    ctr = [*inside, str(program), "--namespace", "k8s.io", "images"]
    listed = subprocess.run([*ctr, "ls"], check=True, capture_output=True, text=True).stdout
    names = named_alike(listed, ref)
    subprocess.run([*ctr, "rm", "--sync", *names], check=True, capture_output=True)
    caches.stores.delete(ref)


def named_alike(listed: str, ref: str) -> list[str]:
    """All names of an image in what `ctr images ls` prints: name, type, digest."""
    rows = [line.split() for line in listed.splitlines()]
    (digest,) = (row[2] for row in rows if row[0] == ref)
    return [row[0] for row in rows if row[2] == digest]


def cold(caches: Caches, length: int) -> float:
    """A start that pulls."""
    ref = push(caches, length)
    seconds = start(caches, ref, "IfNotPresent")
    remove(caches, ref)
    return seconds


def cached(caches: Caches, length: int) -> tuple[float, float]:
    """A start from the cache, and how long it was until the agent had the image."""
    ref = push(caches, length)
    begun = time.monotonic()
    caches.plan(image("bench", ref, **only(caches.last)))
    caches.wait_for(caches.last, "images", "bench", "ready")
    fetched = time.monotonic() - begun
    seconds = start(caches, ref, "Never")
    caches.kubectl("delete", "cacheplan", "default")
    remove(caches, ref)
    return seconds, fetched


def main() -> None:
    """Read the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", default="devctl")
    parser.add_argument("--megabytes", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    settings, paths = existing(options.cluster)
    program = find_kubectl(cache_paths())
    assert program
    kubectl = Kubectl(program, paths.kubeconfig)
    base = build.describe(cache_paths())[1]["busybox"].archive(cache_paths())
    namespace, length = f"bench-{uuid4().hex[:6]}", options.megabytes * 10**6
    caches = Caches(kubectl, settings, paths, namespace, base, paths.root)
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, Linux {os.uname().release}, load {load:.1f} at the start")
    kubectl("create", "namespace", namespace)
    try:
        pulled = [cold(caches, length) for _ in range(options.rounds)]
        kept = [cached(caches, length) for _ in range(options.rounds)]
    finally:
        kubectl("delete", "cacheplan", "default", "--ignore-not-found")
        kubectl("delete", "namespace", namespace)
    report(options.megabytes, pulled, [each[0] for each in kept], [each[1] for each in kept])


def report(megabytes: int, pulled: list[float], kept: list[float], fetched: list[float]) -> None:
    """Print the table."""
    rows = {"cold": pulled, "from the cache": kept, "fetched before, by the agent": fetched}
    print(f"| start of a pod, image of {megabytes} MB | median | min | max |\n|---|---|---|---|")
    for name, seconds in rows.items():
        figures = (statistics.median(seconds), min(seconds), max(seconds))
        print(f"| {name} | " + " | ".join(f"{each:.1f} s" for each in figures) + " |")
    ratio = statistics.median(pulled) / statistics.median(kept)
    print(f"cold takes {ratio:.1f} times as long as from the cache")


if __name__ == "__main__":
    main()
