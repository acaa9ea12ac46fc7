"""Our kinds for lightkube, and how a kind's objects are cut down to what is kept of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from lightkube.generic_resource import create_global_resource, create_namespaced_resource
from lightkube.models.core_v1 import PodTemplateSpec

from devctl.api.labels import GROUP, VERSION

if TYPE_CHECKING:
    from lightkube.resources.apps_v1 import StatefulSet
    from lightkube.resources.core_v1 import Event, PersistentVolumeClaim, Pod

DevServer = create_namespaced_resource(GROUP, VERSION, "DevServer", "devservers")
DevServerFlavor = create_global_resource(GROUP, VERSION, "DevServerFlavor", "devserverflavors")

Child = TypeVar("Child", "Pod", "StatefulSet", "PersistentVolumeClaim", "Event")


def without_history(child: Child) -> Child:
    """A child without the record of who set which field: half of its size, and unused here."""
    if child.metadata:
        child.metadata.managedFields = None
    return child


def small_pod(pod: Pod) -> Pod:
    """A pod without its containers' definitions, of which nothing is read."""
    if pod.spec:
        pod.spec.containers = []
        pod.spec.initContainers = None
        pod.spec.affinity = None
        pod.spec.topologySpreadConstraints = None
    return without_history(pod)


def small_stateful_set(found: StatefulSet) -> StatefulSet:
    """A StatefulSet without its template: that it exists is what counts."""
    if found.spec:
        found.spec.template = PodTemplateSpec()
    return without_history(found)
