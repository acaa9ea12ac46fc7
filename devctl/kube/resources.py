"""The kinds that devctl asks for; their objects are plain dicts.

Typed models would have to be imported and filled in for every object of a list, and all that is
read of one is a handful of fields.
"""

from __future__ import annotations

from typing import Any

from lightkube.generic_resource import (
    GenericGlobalResource,
    GenericNamespacedResource,
    create_api_info,
    create_global_resource,
    create_namespaced_resource,
)

from devctl.api import ephemeral_acceleration_job as job
from devctl.api.labels import GROUP, VERSION

DevServer = create_namespaced_resource(GROUP, VERSION, "DevServer", "devservers")
DevServerFlavor = create_global_resource(GROUP, VERSION, "DevServerFlavor", "devserverflavors")
EphemeralAccelerationJob = create_namespaced_resource(job.GROUP, job.VERSION, job.KIND, job.PLURAL)


def _namespaced(group: str, version: str, kind: str, plural: str) -> Any:
    """One of Kubernetes' own kinds, in a namespace.

    Not put into lightkube's registry: there the typed class may be, and it knows no other.
    """
    info = create_api_info(group, version, kind, plural)
    return type(kind, (GenericNamespacedResource,), {"_api_info": info})


def _global(group: str, version: str, kind: str, plural: str) -> Any:
    """The same for the whole cluster."""
    info = create_api_info(group, version, kind, plural)
    return type(kind, (GenericGlobalResource,), {"_api_info": info})


Pod = _namespaced("", "v1", "Pod", "pods")
PersistentVolumeClaim = _namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
ConfigMap = _namespaced("", "v1", "ConfigMap", "configmaps")
Event = _namespaced("", "v1", "Event", "events")
Namespace = _global("", "v1", "Namespace", "namespaces")

Deployment = _namespaced("apps", "v1", "Deployment", "deployments")
StatefulSet = _namespaced("apps", "v1", "StatefulSet", "statefulsets")
StorageClass = _global("storage.k8s.io", "v1", "StorageClass", "storageclasses")
SelfSubjectAccessReview = _global(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews"
)
SelfSubjectReview = _global(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews"
)
