"""Kinds as requests name them, and how children are cut down to what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lightkube.generic_resource import create_global_resource, create_namespaced_resource
from lightkube.models.core_v1 import PodTemplateSpec

from devctl.api.labels import GROUP, VERSION, WAKE
from devctl_observer.model import parse_flavor, parse_server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lightkube.resources.apps_v1 import StatefulSet
    from lightkube.resources.core_v1 import Event, PersistentVolumeClaim, Pod

    from devctl_observer.model import Meta

DevServer = create_namespaced_resource(GROUP, VERSION, "DevServer", "devservers")
DevServerFlavor = create_global_resource(GROUP, VERSION, "DevServerFlavor", "devserverflavors")

T = TypeVar("T")
Child = TypeVar("Child", "Pod", "StatefulSet", "PersistentVolumeClaim", "Event")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """What requests have to know of a kind.

    Attributes:
        resource: lightkube's class of it.
        api_version: Its group and version.
        plural: Its name in paths.
        parse: What is kept of an object.
        wake: The annotation that runs its role again; empty where it has none.
    """

    resource: Any
    api_version: str
    plural: str
    parse: Callable[[Mapping[str, Any]], T]
    wake: str = ""

    @property
    def name(self) -> str:
        """As manifests write it."""
        return str(self.resource.__name__)

    def path(self, meta: Meta) -> str:
        """Where an object of it is."""
        root = "apis" if "/" in self.api_version else "api"
        where = f"namespaces/{meta.namespace}/" if meta.namespace else ""
        return f"{root}/{self.api_version}/{where}{self.plural}/{meta.name}"


SERVER = Kind(DevServer, f"{GROUP}/{VERSION}", "devservers", parse_server, WAKE)
FLAVOR = Kind(DevServerFlavor, f"{GROUP}/{VERSION}", "devserverflavors", parse_flavor)


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
