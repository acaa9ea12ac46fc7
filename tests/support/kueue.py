"""Kueue's kinds without Kueue, for a plane: what roles create is stored, and nobody acts on it."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache as cached
from typing import TYPE_CHECKING, Any

import yaml
from support.plane.content import pod
from support.servers import succeeds, wait_until

from devctl.api.queues import FINALIZER, QUEUE_NAME
from devctl.local.build import describe
from devctl.local.part_manifests import base_of
from devctl.local.parts import load_parts
from devctl.local.paths import cache_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate of a pod without quota."""

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


def workload_name(kind: str, name: str) -> str:
    """The name of what `create_workload` creates for a StatefulSet or a pod."""
    return f"{kind.lower()}-{name}"


def create_workload(kubectl: Kubectl, owner: dict[str, Any]) -> None:
    """Create the Workload of a StatefulSet, or of a pod that has none, as Kueue does."""
    meta = owner["metadata"]
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    reference |= {key: meta[key] for key in ("name", "uid")}
    containers = [{"name": "main", "image": "any:1"}]
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": containers}}}
    name, space = workload_name(owner["kind"], meta["name"]), meta["namespace"]
    kubectl.api.create(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": name, "namespace": space, "ownerReferences": [reference]},
            "spec": {"queueName": "devctl-small", "podSets": [pod_set]},
        }
    )


def report(
    kubectl: Kubectl,
    namespace: str,
    owner: str,
    kind: str = "StatefulSet",
    **conditions: tuple[str, str, str, str],
) -> None:
    """Give the Workload of an owner conditions: the status, reason, message and time of each."""
    keys = ("status", "reason", "message", "lastTransitionTime")
    found = [
        {"type": kind, **dict(zip(keys, said, strict=True))} for kind, said in conditions.items()
    ]
    patch = json.dumps({"status": {"conditions": found}})
    where = ("-n", namespace, "patch", "workload", workload_name(kind, owner))
    kubectl(*where, "--subresource=status", "--type=merge", "-p", patch)


def preempt(  # noqa: PLR0913 - what Kueue reports
    kubectl: Kubectl,
    namespace: str,
    owner: str,
    at: str,
    *,
    waits: str = "",
    kind: str = "StatefulSet",
) -> None:
    """Report that the pods of an owner were preempted at a time."""
    said = ("True", "Preempted", "Preempted to accommodate a workload", at)
    cause = ("True", "InClusterQueue", "Preempted to accommodate a workload", at)
    pending = ("False", "Pending", waits, at)
    conditions = {"QuotaReserved": pending, "Evicted": said, "Preempted": cause}
    report(kubectl, namespace, owner, kind, **conditions)


def await_next_second(kubectl: Kubectl, namespace: str) -> None:
    """Wait until a Workload made now is a later one: Kueue orders them by time, to the second."""
    found = kubectl.api.list("workload", namespace)
    last = max(each["metadata"]["creationTimestamp"] for each in found)
    following = datetime.fromisoformat(last) + timedelta(seconds=1)
    wait_until(lambda: datetime.now(UTC) > following, "the next one comes later")


@contextmanager
def gating(kubectl: Kubectl, namespace: str) -> Iterator[None]:
    """In a namespace, the API server does to pods in queues what Kueue's webhook does."""
    name = f"{namespace}-kueue"
    patches = {"/spec/schedulingGates": f"{{'name': '{GATE}'}}"}
    patches["/metadata/finalizers"] = f"'{FINALIZER}'"
    added = [
        f"JSONPatch{{op: 'add', path: '{path}', value: [{value}]}}"
        for path, value in patches.items()
    ]
    policy = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "objectSelector": {"matchExpressions": [{"key": QUEUE_NAME, "operator": "Exists"}]},
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods"],
                }
            ],
        },
        "mutations": [
            {"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{', '.join(added)}]"}},
        ],
    }
    for kind, spec in (("", policy), ("Binding", {"policyName": name})):
        kubectl.api.apply(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"MutatingAdmissionPolicy{kind}",
                "metadata": {"name": name},
                "spec": spec,
            }
        )
    probe = pod("probe", namespace, "default")
    probe["metadata"]["labels"] = {QUEUE_NAME: "any"}
    ask = ("-n", namespace, "create", "-f", "-", "--dry-run=server", "-o", "yaml")
    wait_until(lambda: GATE in kubectl(*ask, input=json.dumps(probe)), "pods are gated")
    try:
        yield
    finally:
        for kind in ("mutatingadmissionpolicybinding", "mutatingadmissionpolicy"):
            kubectl.api.delete(kind, name)
