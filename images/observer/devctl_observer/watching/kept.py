"""What is stored of Kubernetes objects: a cluster has many, and little of each is used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from lightkube.models.core_v1 import Container, Node, PodTemplateSpec, ResourceRequirements
from lightkube.resources.apps_v1 import StatefulSet
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import ConfigMap, Pod

from devctl.api.image_names import full_name
from devctl.api.placing import NodeFacts, Taint
from devctl.api.quantities import GPU
from devctl_observer.judging.model import labels_of, meta_of
from devctl_observer.judging.pods import gpus_of

Child = TypeVar("Child")


def without_history(child: Child) -> Child:
    """A child without managedFields, which are half of its size and not used."""
    metadata: Any = getattr(child, "metadata", None)
    if metadata:
        metadata.managedFields = None
    return child


def small_pod(pod: Pod) -> Pod:
    """A pod without container definitions, of which only the number of GPUs is used."""
    if pod.spec:
        gpus = gpus_of(pod)
        kept = ResourceRequirements(limits={GPU: str(gpus)})
        pod.spec.containers = [Container(name="", resources=kept)] if gpus else []
        pod.spec.initContainers = None
        pod.spec.affinity = None
        pod.spec.topologySpreadConstraints = None
    return without_history(pod)


def small_stateful_set(found: StatefulSet) -> StatefulSet:
    """A StatefulSet without its template, which is not used."""
    if found.spec:
        found.spec.template = PodTemplateSpec()
    return without_history(found)


def small_job(found: Job) -> Job:
    """A Job without its template, which is not used."""
    if found.spec:
        found.spec.template = PodTemplateSpec()
    return without_history(found)


def without_data(found: Any) -> Any:
    """A ConfigMap without its data: only its existence counts."""
    found.data = found.binaryData = None
    return without_history(found)


SMALL: dict[Any, Callable[[Any], Any]] = {
    Pod: small_pod,
    StatefulSet: small_stateful_set,
    Job: small_job,
    ConfigMap: without_data,
}
"""What is stored of a child, by kind; for all others, `without_history` applies."""


def node_facts(node: Node) -> NodeFacts:
    """What is stored of a node."""
    spec, status = node.spec, node.status
    conditions = {c.type: c.status for c in (status.conditions if status else None) or []}
    taints = (spec.taints if spec else None) or []
    images = (status.images if status else None) or []
    return NodeFacts(
        name=meta_of(node.metadata).name,
        ready=conditions.get("Ready") == "True",
        cordoned=bool(spec and spec.unschedulable),
        labels=tuple(sorted(labels_of(node).items())),
        taints=tuple(Taint(t.key, t.value or "", t.effect) for t in taints),
        allocatable=tuple(sorted(((status.allocatable if status else None) or {}).items())),
        uid=meta_of(node.metadata).uid,
        images=frozenset(sys.intern(full_name(name)) for one in images for name in one.names or []),
    )
