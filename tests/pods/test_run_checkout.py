"""A run's checkout, made in a real pod of a mirror that its claim has the driver mount."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import tarfile
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from support.cache_plans import PLAN, to_oneself
from support.checkouts import SHOWS, Checkout
from support.servers import wait_until
from support.vllm_runs import Run

from devctl.api.node_cache import ROOT, mirror_path
from devctl.local.namespaces import enter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.commands import Kubectl
    from support.sharing import Shared

    from devctl.local.paths import ClusterPaths
    from devctl.local.settings import ClusterSettings

NAME = "checked-out"
PLACE = f"{ROOT}/{mirror_path(NAME)}"
WRITES = f"""\
import os
assert not os.access("/cache/git/{NAME}", os.W_OK)
open("result", "w").write("x")
"""


class Place:
    """The last node's cache, and runs there."""

    def __init__(self, kubectl: Kubectl, namespace: str, image: str, node: str) -> None:
        self.kubectl, self.namespace, self.image, self.node = kubectl, namespace, image, node

    def start(self, checkout: dict[str, Any], script: str = SHOWS) -> Run:
        run = Run(self.kubectl.api, self.namespace)
        run.apply(
            image=self.image,
            command=["python3", "-c", script],
            port=0,
            preferNode=self.node,
            repoName=NAME,
            checkout=checkout,
            resources={"cpu": "50m", "memory": "256Mi"},
        )
        return run

    def keep(self, digest: str, content: bytes) -> dict[str, str]:
        """Store a capsule; how a run names it."""
        metadata = {"name": f"capsule-{digest[:16]}", "namespace": self.namespace}
        data = {"capsule": base64.b64encode(content).decode()}
        self.kubectl.api.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "binaryData": data}
        )
        return {"digest": digest, "configMap": metadata["name"]}


@pytest.fixture
def on_node(cluster: ClusterSettings, paths: ClusterPaths) -> Any:
    """Runs a shell command on the last node, with bytes for it to read."""

    def run(script: str, given: bytes = b"") -> None:
        command = [*enter(paths.node(cluster.nodes[-1].name)), "sh", "-c", script]
        subprocess.run(command, check=True, input=given, capture_output=True)

    yield run
    run(f"rm -rf {PLACE}")


@pytest.fixture
def place(
    kubectl: Kubectl, namespace: str, torch_image: str, cluster: ClusterSettings, shared: Shared
) -> Iterator[Place]:
    assert "dra" in cluster.parts
    # Only the tests' own folder on the last node has it: no agent could fetch it.
    url = "https://192.0.2.1/a.git"
    item = {"type": "gitRepo", "name": NAME, "gitRepo": {"url": url}}
    node = cluster.nodes[-1].name
    with to_oneself(kubectl, shared):
        kubectl.api.apply({**PLAN, "spec": {"items": [item]}})
        yield Place(kubectl, namespace, torch_image, node)
        kubectl("-n", namespace, "delete", "vllmruns", "--all", "--timeout=90s")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def output(place: Place, run: Run) -> str:
    return place.kubectl("-n", place.namespace, "logs", f"{run.name}-vllm-pod")


def put(on_node: Any, mirror: bytes) -> None:
    on_node(f"mkdir -p {PLACE}.new && tar -x -C {PLACE}.new && mv {PLACE}.new {PLACE}", mirror)


def test_the_tree_in_the_pod_is_the_tree_here_once_the_node_has_the_mirror(
    place: Place, checkout: Checkout, tmp_path: Path, on_node: Any
) -> None:
    capsule = place.keep(*checkout.capsule(tmp_path))
    run = place.start({"commit": checkout.base, "capsule": capsule})
    waits = run.wait("Starting", "GPUsNotPrepared", 180)
    assert f"repository `{NAME}` is not in the cache of node `{place.node}`" in waits["message"]
    put(on_node, checkout.mirror())
    run.wait("Succeeded", "Completed", 240)
    assert json.loads(output(place, run)) == checkout.tree()


def test_a_checkout_is_the_programs_to_change_and_the_mirror_is_not(
    place: Place, checkout: Checkout, on_node: Any
) -> None:
    put(on_node, checkout.mirror())
    run = place.start({"commit": checkout.base}, WRITES)
    run.wait("Succeeded", "Completed", 240)


def test_what_does_not_apply_ends_the_run_and_is_named(
    place: Place, checkout: Checkout, on_node: Any
) -> None:
    put(on_node, checkout.mirror())
    gone = {"path": "kept", "base": "0" * 40, "kind": "deleted"}
    about = json.dumps({"version": 1, "base": checkout.base, "changes": [gone]}).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo("capsule.json")
        member.size = len(about)
        tar.addfile(member, io.BytesIO(about))
    capsule = place.keep(sha256(packed.getvalue()).hexdigest(), packed.getvalue())
    run = place.start({"commit": checkout.base, "capsule": capsule})
    failed = run.wait("Failed", "CheckoutFailed", 240)
    assert failed["message"].startswith("`kept` does not apply")
    assert "exitCode" not in failed
    wait_until(lambda: not run.claim, "its GPU is free")
