"""The kinds that devctl asks for; their objects are plain dicts.

Typed models would have to be imported and filled in for every object of a list, and all that is
read of one is a handful of fields.
"""

from __future__ import annotations

from lightkube.generic_resource import create_global_resource, create_namespaced_resource

from devctl.api import ephemeral_acceleration_job as job
from devctl.api.labels import GROUP, VERSION

DevServer = create_namespaced_resource(GROUP, VERSION, "DevServer", "devservers")
DevServerFlavor = create_global_resource(GROUP, VERSION, "DevServerFlavor", "devserverflavors")
EphemeralAccelerationJob = create_namespaced_resource(job.GROUP, job.VERSION, job.KIND, job.PLURAL)

Pod = create_namespaced_resource("", "v1", "Pod", "pods")
PersistentVolumeClaim = create_namespaced_resource(
    "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"
)
Secret = create_namespaced_resource("", "v1", "Secret", "secrets")
ConfigMap = create_namespaced_resource("", "v1", "ConfigMap", "configmaps")
Event = create_namespaced_resource("", "v1", "Event", "events")
Service = create_namespaced_resource("", "v1", "Service", "services")
Node = create_global_resource("", "v1", "Node", "nodes")
Namespace = create_global_resource("", "v1", "Namespace", "namespaces")

Deployment = create_namespaced_resource("apps", "v1", "Deployment", "deployments")
StatefulSet = create_namespaced_resource("apps", "v1", "StatefulSet", "statefulsets")
StorageClass = create_global_resource("storage.k8s.io", "v1", "StorageClass", "storageclasses")
CustomResourceDefinition = create_global_resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"
)
SelfSubjectAccessReview = create_global_resource(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews"
)
SelfSubjectReview = create_global_resource(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews"
)
