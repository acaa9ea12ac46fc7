"""vLLM itself on processors: from the command to the first answer, from a cold image and a cached.

Prints figures and asserts none. Works in a namespace of its own on the local cluster, which has the
parts dra, cache and stores and the operator, and replaces its CachePlan. The image is pushed to the
cluster's registry; no node may have it by its name in the local cluster.

usage: vllm.py [--cluster devctl] [--rounds 2]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.cache_plans import mirror, model, planned
from support.commands import Kubectl
from support.stores import NAMESPACE, REGISTRY, git_url, send_model, send_repository
from support.tiny_model import write_model
from support.vllm_checkout import PROJECT, new, pushed, write
from support.vllm_cpu import IMAGE, SIZE, UP_SECONDS, copy_sources, serve
from support.vllm_place import completed, vllm_place

from devctl.local import build, buildah, steps
from devctl.local.cluster import existing
from devctl.local.commands import capture
from devctl.local.namespaces import enter
from devctl.local.paths import cache_paths
from devctl.local.status import find_kubectl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.vllm_place import VllmPlace

    from devctl.local.images import Image
    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

REPOSITORY, MODEL = "vllm-cpu", "bench/tiny"


def push(kubectl: Kubectl, image: Image) -> str:
    """Have the cluster's registry offer the image, with compressed layers; its name there."""
    cache = cache_paths()
    build.ensure_built(cache, print, also=[image.name])
    if not buildah.has_layers(image, cache):
        archive = f"docker-archive:{image.archive(cache)}"
        capture([*buildah.buildah(cache), "pull", archive], what="unpack the image")
    name = f"{image.name}:{image.digest}"
    with forwarded(kubectl, "service/registry", 80) as address:
        target = f"docker://{address}/{name}"
        options = ("push", "--tls-verify=false", image.reference, target)
        capture([*buildah.buildah(cache), *options], what="push the image")
    return f"{REGISTRY}/{name}"


@contextmanager
def forwarded(kubectl: Kubectl, what: str, port: int) -> Iterator[str]:
    """An address on this machine that leads to one of the stores."""
    common = [str(kubectl.program), f"--kubeconfig={kubectl.kubeconfig}", "-n", NAMESPACE]
    forward = [*common, "port-forward", what, f":{port}"]
    with subprocess.Popen(forward, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield f"127.0.0.1:{process.stdout.readline().split(':')[1].split()[0]}"
        process.terminate()


def forget(settings: ClusterSettings, paths: ClusterPaths, image: Image, reference: str) -> None:
    """Remove an image and its layers from every node.

    Raises:
        SystemExit: A node has the same layers by another name.
    """
    group = build.describe(cache_paths())[0]["containerd"]
    ctr = steps.PROGRAMS_IN_NODE / group.folder(cache_paths()).name / "ctr"
    command = [str(ctr), "--namespace", "k8s.io", "images"]
    for node in settings.nodes:
        inside = [*enter(paths.node(node.name)), *command]
        lines = capture([*inside, "list"], what="list images").splitlines()[1:]
        digests = {line.split()[0]: line.split()[2] for line in lines}
        if image.reference in digests:
            sys.exit(f"{node.name} has `{image.reference}`: use a cluster that has not loaded it")
        # The runtime knows it by digests as well, which keep its layers.
        found = [name for name, each in digests.items() if each == digests.get(reference)]
        if found:
            capture([*inside, "remove", "--sync", *found], what=f"remove `{reference}`")


def first_answer(place: VllmPlace, name: str, cwd: Path, *line: str) -> tuple[float, float]:
    """Seconds from the command to the start of the program, and to the first completion."""
    begun, began = time.monotonic(), time.time()
    place.user.must("vllm", "run", "--name", name, *SIZE, *line, cwd=cwd)
    place.up(name, UP_SECONDS)
    with place.forwarded(name) as client:
        completed(client, "tiny", "Hello", 1)
    took = time.monotonic() - begun
    return started(place, name) - began, took


def started(place: VllmPlace, name: str) -> float:
    """When the program of a run started, by the kubelet's clock, which is this machine's."""
    pod = place.run(name).pod
    assert pod
    (status,) = pod["status"]["containerStatuses"]
    return datetime.fromisoformat(status["state"]["running"]["startedAt"]).timestamp()


def show(what: str, figures: list[tuple[float, float]]) -> None:
    """One row of the table."""
    starts, answers = zip(*figures, strict=True)
    start, answer = statistics.median(starts), statistics.median(answers)
    print(f"{what:<36}{start:8.1f} s{answer:10.1f} s", flush=True)


def measure(place: VllmPlace, above: Path, nodes: list[str], ref: str, rounds: int) -> None:
    """Print the table: all runs are on the last node."""
    there = ("--image", ref, "--prefer-node", nodes[-1])
    print(f"{'FROM THE COMMAND TO':<36}{'ITS START':>10}{'FIRST ANSWER':>14}")
    with planned(place.kubectl, nodes, [model("tiny", MODEL)]):
        alone = (*there, "--", *serve(MODEL))
        show("cold image", [first_answer(place, "cold", above, *alone)])
        copy_sources(place, "cold", above / "sources")
        place.user.must("cleanup", "--name", "cold")
        figures = []
        for number in range(rounds):
            figures.append(first_answer(place, f"cached-{number}", above, *alone))
            place.user.must("cleanup", "--name", f"cached-{number}")
        show("cached image", figures)
    root = checkout(place.kubectl, above)
    with planned(place.kubectl, nodes, [mirror(REPOSITORY, git_url(REPOSITORY))]):
        figures = []
        for number in range(rounds):
            line = (*there, "--", *serve("./tiny"))
            figures.append(first_answer(place, f"changed-{number}", root, *line))
            place.user.must("cleanup", "--name", f"changed-{number}")
        show("cached image, in a checkout", figures)


def checkout(kubectl: Kubectl, above: Path) -> Path:
    """A changed checkout of vLLM, of which the git server has the commit."""
    root = new(above / "vllm")
    (above / "sources/vllm").rename(root / "vllm")
    write(root, {"pyproject.toml": PROJECT})
    pushed(root, git_url(REPOSITORY), above / "mirror.git")
    send_repository(kubectl, above / "mirror.git", REPOSITORY)
    write_model(root / "tiny")
    return root


def main() -> None:
    """Read the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", default="devctl")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    settings, paths = existing(options.cluster)
    program = find_kubectl(cache_paths())
    assert program
    kubectl = Kubectl(program, paths.kubeconfig)
    image = build.describe(cache_paths())[1][IMAGE]
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, Linux {os.uname().release}, load {load:.1f} at the start")
    ref = push(kubectl, image)
    forget(settings, paths, image, ref)
    size = image.archive(cache_paths()).stat().st_size / 1e9
    print(f"image of {size:.1f} GB, not compressed")
    with tempfile.TemporaryDirectory() as folder:
        above = Path(folder)
        write_model(above / "model")
        send_model(kubectl, above / "model", MODEL)
        home = above / "home"
        home.mkdir()
        with vllm_place(kubectl, paths.kubeconfig, home, ref, f"{ref}-{{commit}}") as place:
            measure(place, home, [node.name for node in settings.nodes], ref, options.rounds)


if __name__ == "__main__":
    main()
