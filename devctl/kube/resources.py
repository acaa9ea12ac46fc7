"""The kinds that devctl uses; their objects are plain dicts.

Typed models would have to be imported and filled for every object of a list, for a few fields.
"""

from __future__ import annotations

from urllib.parse import quote

from devctl.api import kinds
from devctl.api.queues import KUEUE


class Kind(kinds.Kind):
    """A kind, and the path of its objects."""

    __slots__ = ()

    def path(self, namespace: str | None = None, name: str = "") -> str:
        """The path of its objects, or of one of them.

        >>> Kind("", "v1", "Pod", "pods").path("team", "lab-0")
        'api/v1/namespaces/team/pods/lab-0'
        """
        parts = ["apis" if self.group else "api", self.api_version]
        parts += ["namespaces", quote(namespace, safe="")] if namespace else []
        return "/".join([*parts, self.plural, *([quote(name, safe="")] if name else [])])


OURS = tuple(Kind(*kind) for kind in kinds.KINDS)
DevServer, DevServerFlavor, EphemeralAccelerationJob, DevServerUser, DevServerTeam = OURS

Pod = Kind("", "v1", "Pod", "pods")
PersistentVolumeClaim = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
ConfigMap = Kind("", "v1", "ConfigMap", "configmaps")
Event = Kind("", "v1", "Event", "events")
ServiceAccount = Kind("", "v1", "ServiceAccount", "serviceaccounts")
ResourceQuota = Kind("", "v1", "ResourceQuota", "resourcequotas")
Namespace = Kind("", "v1", "Namespace", "namespaces", namespaced=False)

ClusterQueue = Kind("kueue.x-k8s.io", "v1beta2", "ClusterQueue", "clusterqueues", namespaced=False)
CertificateSigningRequest = Kind(
    "certificates.k8s.io",
    "v1",
    "CertificateSigningRequest",
    "certificatesigningrequests",
    namespaced=False,
)
Deployment = Kind("apps", "v1", "Deployment", "deployments")
StatefulSet = Kind("apps", "v1", "StatefulSet", "statefulsets")
StorageClass = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
_KUEUE, _, _KUEUE_VERSION = KUEUE.partition("/")
ClusterQueue = Kind(_KUEUE, _KUEUE_VERSION, "ClusterQueue", "clusterqueues", namespaced=False)
LocalQueue = Kind(_KUEUE, _KUEUE_VERSION, "LocalQueue", "localqueues")
Workload = Kind(_KUEUE, _KUEUE_VERSION, "Workload", "workloads")

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
