"""What server-side apply of five objects costs: ours, the client's own discovery, kubernetes.core.

Prints figures and asserts none. Works in a namespace of its own, which it deletes. Takes the best
of several passes: what else runs on the machine only ever adds. CPU time is this process's alone.

usage: KUBECONFIG=... PYTHONPATH=plugins:.ansible/collections \\
  python -P tests/bench/apply.py [PASSES]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ansible_collections.kubernetes.core.plugins.module_utils.k8s import client as k8s_client
from ansible_collections.kubernetes.core.plugins.module_utils.k8s import service as k8s_service
from apply.converge import Goal, converge
from apply.manifests import Key, Kind, unique
from apply.ownership import Owner, stamp
from apply.report import Report
from apply.server.client import Cluster
from apply.server.connection import connect
from kubernetes import client as official
from kubernetes import config as official_config
from kubernetes.client import rest
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

PASSES = int(sys.argv[1]) if len(sys.argv) > 1 else 10
OBJECTS = 5
NAMESPACE = f"bench-apply-{uuid4().hex[:6]}"
IDENTITY = {"devctl-bench": "apply"}
IMPORTS = {
    "nothing": "pass",
    "official dynamic client": "import kubernetes.dynamic",
    "plugins/apply": "import apply.converge, apply.server.connection, apply.server.client",
    "kubernetes.core's module_utils": (
        "import ansible_collections.kubernetes.core.plugins.module_utils.k8s.service,"
        " ansible_collections.kubernetes.core.plugins.module_utils.k8s.client"
    ),
}


@dataclass
class Cost:
    """The best pass."""

    wall: float = float("inf")
    cpu: float = float("inf")
    requests: int = 0


class Requests:
    """Counts what goes to the API server."""

    def __init__(self) -> None:
        """Stand between the client and its connections."""
        self.count = 0
        original = rest.RESTClientObject.request

        def request(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return original(*args, **kwargs)

        rest.RESTClientObject.request = request


def measure(requests: Requests, step: Callable[[], object]) -> Cost:
    """The best of several passes."""
    cost = Cost()
    for _ in range(PASSES):
        before, wall, cpu = requests.count, time.perf_counter(), time.process_time()
        step()
        cost.wall = min(cost.wall, time.perf_counter() - wall)
        cost.cpu = min(cost.cpu, time.process_time() - cpu)
        cost.requests = requests.count - before
    return cost


def show(label: str, cost: Cost) -> None:
    """One row."""
    wall, cpu = cost.wall * 1000, cost.cpu * 1000
    print(f"{label:<52}{wall:8.1f} ms {cpu:8.1f} ms CPU {cost.requests:4} requests", flush=True)


def imports() -> None:
    """How long a fresh interpreter takes, imports apart."""
    for label, code in IMPORTS.items():
        best = float("inf")
        for _ in range(PASSES):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            best = min(best, time.perf_counter() - started)
        print(f"import {label:<45}{best * 1000:8.1f} ms", flush=True)


def manifests(who: str, value: str) -> list[dict[str, Any]]:
    """Five objects."""
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{who}-{number}", "namespace": NAMESPACE},
            "data": {"value": value},
        }
        for number in range(OBJECTS)
    ]


def official_client(cache: str | None = None) -> DynamicClient:
    """The client with its own discovery; without a cache file it starts from nothing."""
    cache = cache or str(Path(tempfile.mkdtemp()) / "cache")
    configuration = official.Configuration()
    official_config.load_kube_config(os.environ["KUBECONFIG"], client_configuration=configuration)
    return DynamicClient(official.ApiClient(configuration), cache_file=cache)


def ours(owner: Owner, value: Callable[[], str], kinds: int) -> Callable[[], None]:
    """A whole run: connect, read, refuse, apply. `kinds` of prune make the run read that many."""
    prune = [Kind("v1", "ConfigMap"), Kind("v1", "Secret"), Kind("v1", "Service")][:kinds]

    def run() -> None:
        stamped = unique(
            stamp(manifest, owner, IDENTITY) for manifest in manifests("ours", value())
        )
        with connect() as client:
            cluster = Cluster(client, NAMESPACE, "bench")
            converge(cluster, Goal(owner, IDENTITY, stamped, frozenset(prune)), Report())

    return run


def plain(cache: str | None, value: Callable[[], str]) -> Callable[[], None]:
    """The official client as its documentation has it: discovery, then a GET and an apply each."""

    def run() -> None:
        client = official_client(cache)
        resource = client.resources.get(api_version="v1", kind="ConfigMap")
        for manifest in manifests("plain", value()):
            with suppress(NotFoundError):
                resource.get(name=manifest["metadata"]["name"], namespace=NAMESPACE)
            resource.server_side_apply(body=manifest, field_manager="bench", force_conflicts=True)

    return run


def core(value: Callable[[], str], *, cold: bool) -> Callable[[], None]:
    """What the collection's `k8s` module does for each object, without its process."""
    params = {"server_side_apply": {"field_manager": "bench", "force_conflicts": True}}
    module = SimpleNamespace(params=params, check_mode=False)

    def run() -> None:
        k8s_client._pool.clear()  # noqa: SLF001 - each run is a process of its own
        if cold:
            tempfile.tempdir = tempfile.mkdtemp()
        client = k8s_client.get_api_client(kubeconfig=os.environ["KUBECONFIG"])
        service = k8s_service.K8sService(client, module)
        for manifest in manifests("core", value()):
            resource = service.find_resource("ConfigMap", "v1", fail=True)
            service.apply(resource, manifest, service.retrieve(resource, manifest))

    return run


def main() -> None:
    """Measure and print."""
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; best of {PASSES}")
    imports()
    requests = Requests()
    core_api = official.CoreV1Api(official_client().client)
    metadata = official.V1ObjectMeta(name=NAMESPACE)
    core_api.create_namespace(official.V1Namespace(metadata=metadata))
    metadata = official.V1ObjectMeta(name="bench")
    account = core_api.create_namespaced_service_account(
        NAMESPACE, official.V1ServiceAccount(metadata=metadata)
    )
    owner = Owner(Key(Kind("v1", "ServiceAccount"), "bench", NAMESPACE), account.metadata.uid)
    cached = str(Path(tempfile.mkdtemp()) / "cache")
    changing, same = (lambda: uuid4().hex), (lambda: "same")
    try:
        show("connect, no discovery", measure(requests, lambda: connect().__enter__()))
        show("connect, client's discovery, nothing cached", measure(requests, official_client))
        show(
            "connect, client's discovery, cached in a file",
            measure(requests, lambda: official_client(cached)),
        )
        for label, value in (("changed", changing), ("unchanged", same)):
            print(f"{OBJECTS} ConfigMaps, all {label}")
            show("  ours, one kind", measure(requests, ours(owner, value, 0)))
            show("  ours, three kinds to prune", measure(requests, ours(owner, value, 3)))
            show("  official client, discovery cached", measure(requests, plain(cached, value)))
            show("  official client, nothing cached", measure(requests, plain(None, value)))
            show("  kubernetes.core, discovery cached", measure(requests, core(value, cold=False)))
            show("  kubernetes.core, nothing cached", measure(requests, core(value, cold=True)))
    finally:
        core_api.delete_namespace(NAMESPACE)


if __name__ == "__main__":
    main()
