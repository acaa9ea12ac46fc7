"""Kueue's kinds without Kueue, for a plane: what roles create is stored, and nobody acts on it."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import cache as cached
from typing import TYPE_CHECKING, Any

import yaml
from support.servers import succeeds, wait_until

from devctl.local.build import describe
from devctl.local.part_objects import base_of
from devctl.local.parts import load_parts
from devctl.local.paths import cache_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

_KINDS = ("clusterqueues", "localqueues", "resourceflavors", "workloadpriorityclasses")


@cached
def released_kinds() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions of Kueue's release."""
    cache = cache_paths()
    groups, _ = describe(cache)
    folder = base_of(load_parts()["kueue"], {"kueue": groups["kueue"].folder(cache)})
    files = sorted(folder.parent.glob("components/crd/bases/*.yaml"))
    return [yaml.load(file.read_text(), yaml.CSafeLoader) for file in files]


@contextmanager
def kueue_kinds(kubectl: Kubectl, *also: str) -> Iterator[None]:
    """Kueue's kinds that roles create, and others, as released: nobody converts them."""
    names = [f"{kind}.kueue.x-k8s.io" for kind in (*_KINDS, *also)]
    for crd in released_kinds():
        if crd["metadata"]["name"] in names:
            kubectl.api.apply(crd)
    wait_until(lambda: succeeds(lambda: kubectl("get", ",".join(names), "-A")), "all are served")
    yield

    def remain() -> list[str]:
        kind = "customresourcedefinition"
        return [name for name in names if kubectl.api.get(kind, name)]

    for name in names:
        kubectl.api.delete("customresourcedefinition", name)
    wait_until(lambda: not remain(), lambda: f"they go: {remain()}")


def create_workload(kubectl: Kubectl, statefulset: dict[str, Any]) -> None:
    """Create the Workload of a StatefulSet, as Kueue does."""
    meta = statefulset["metadata"]
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    owner |= {key: meta[key] for key in ("name", "uid")}
    containers = [{"name": "main", "image": "any:1"}]
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": containers}}}
    name, space = f"statefulset-{meta['name']}", meta["namespace"]
    kubectl.api.create(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": name, "namespace": space, "ownerReferences": [owner]},
            "spec": {"queueName": "devctl-small", "podSets": [pod_set]},
        }
    )


def report(
    kubectl: Kubectl, namespace: str, server: str, **conditions: tuple[str, str, str, str]
) -> None:
    """Give a server's Workload some conditions: the status, reason, message and time of each."""
    keys = ("status", "reason", "message", "lastTransitionTime")
    found = [
        {"type": kind, **dict(zip(keys, said, strict=True))} for kind, said in conditions.items()
    ]
    patch = json.dumps({"status": {"conditions": found}})
    where = ("-n", namespace, "patch", "workload", f"statefulset-{server}")
    kubectl(*where, "--subresource=status", "--type=merge", "-p", patch)


def preempt(kubectl: Kubectl, namespace: str, server: str, at: str, waits: str = "") -> None:
    """Report that a server was preempted at a time."""
    said = ("True", "Preempted", "Preempted to accommodate a workload", at)
    cause = ("True", "InClusterQueue", "Preempted to accommodate a workload", at)
    pending = ("False", "Pending", waits, at)
    report(kubectl, namespace, server, QuotaReserved=pending, Evicted=said, Preempted=cause)
