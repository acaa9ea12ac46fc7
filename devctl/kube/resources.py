"""The kinds that devctl uses; their objects are plain dicts.

Typed models would have to be imported and filled for every object of a list, for a few fields.
"""

from __future__ import annotations

from devctl.api.kinds import DEVSERVER, FLAVOR, GPU_WORKLOAD, JOB, TEAM, USER, Kind
from devctl.api.queues import KUEUE

DevServer, DevServerFlavor, EphemeralAccelerationJob = DEVSERVER, FLAVOR, JOB
DevServerUser, DevServerTeam, GPUWorkload = USER, TEAM, GPU_WORKLOAD

Pod = Kind("", "v1", "Pod", "pods")
PersistentVolumeClaim = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
ConfigMap = Kind("", "v1", "ConfigMap", "configmaps")
Event = Kind("", "v1", "Event", "events")
ServiceAccount = Kind("", "v1", "ServiceAccount", "serviceaccounts")
ResourceQuota = Kind("", "v1", "ResourceQuota", "resourcequotas")
Namespace = Kind("", "v1", "Namespace", "namespaces", namespaced=False)

Deployment = Kind("apps", "v1", "Deployment", "deployments")
StatefulSet = Kind("apps", "v1", "StatefulSet", "statefulsets")
StorageClass = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
CertificateSigningRequest = Kind(
    *("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests"),
    namespaced=False,
)
_KUEUE, _, _KUEUE_VERSION = KUEUE.partition("/")
ClusterQueue = Kind(_KUEUE, _KUEUE_VERSION, "ClusterQueue", "clusterqueues", namespaced=False)
LocalQueue = Kind(_KUEUE, _KUEUE_VERSION, "LocalQueue", "localqueues")
Workload = Kind(_KUEUE, _KUEUE_VERSION, "Workload", "workloads")


def _review(group: str, name: str) -> Kind:
    return Kind(f"{group}.k8s.io", "v1", name, f"{name.lower()}s", namespaced=False)


SelfSubjectAccessReview = _review("authorization", "SelfSubjectAccessReview")
SelfSubjectRulesReview = _review("authorization", "SelfSubjectRulesReview")
SelfSubjectReview = _review("authentication", "SelfSubjectReview")
