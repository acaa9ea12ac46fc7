"""The kinds that devctl asks for; their objects are plain dicts.

Typed models would have to be imported and filled in for every object of a list, and all that is
read of one is a handful of fields.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from devctl.api import ephemeral_acceleration_job as job
from devctl.api.labels import GROUP, VERSION


class Kind(NamedTuple):
    """What the API server has to be told of a kind."""

    group: str
    """Empty for the core group."""
    version: str
    name: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """What a manifest says.

        >>> Kind("apps", "v1", "Deployment", "deployments").api_version
        'apps/v1'
        """
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str = "") -> str:
        """Where the API server has its objects, or one of them.

        >>> Kind("", "v1", "Pod", "pods").path("team", "lab-0")
        'api/v1/namespaces/team/pods/lab-0'
        """
        parts = ["apis" if self.group else "api", self.api_version]
        parts += ["namespaces", quote(namespace, safe="")] if namespace else []
        return "/".join([*parts, self.plural, *([quote(name, safe="")] if name else [])])


DevServer = Kind(GROUP, VERSION, "DevServer", "devservers")
DevServerFlavor = Kind(GROUP, VERSION, "DevServerFlavor", "devserverflavors", namespaced=False)
EphemeralAccelerationJob = Kind(job.GROUP, job.VERSION, job.KIND, job.PLURAL)

Pod = Kind("", "v1", "Pod", "pods")
PersistentVolumeClaim = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
ConfigMap = Kind("", "v1", "ConfigMap", "configmaps")
Event = Kind("", "v1", "Event", "events")
Namespace = Kind("", "v1", "Namespace", "namespaces", namespaced=False)

Deployment = Kind("apps", "v1", "Deployment", "deployments")
StatefulSet = Kind("apps", "v1", "StatefulSet", "statefulsets")
StorageClass = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
_AUTHORIZATION = "authorization.k8s.io"
SelfSubjectAccessReview = Kind(
    _AUTHORIZATION, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
SelfSubjectRulesReview = Kind(
    _AUTHORIZATION, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False
)
SelfSubjectReview = Kind(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False
)
