"""The kinds that devctl uses; their objects are plain dicts.

Typed models would have to be imported and filled for every object of a list, for a few fields.
"""

from __future__ import annotations

from devctl.api.kinds import (
    CACHE_PLAN,
    DEVSERVER,
    FLAVOR,
    GPU_WORKLOAD,
    JOB,
    TEAM,
    USER,
    VLLM_RUN,
    Kind,
)
from devctl.api.queues import KUEUE

DevServer, DevServerFlavor, EphemeralAccelerationJob = DEVSERVER, FLAVOR, JOB
DevServerUser, DevServerTeam, GPUWorkload = USER, TEAM, GPU_WORKLOAD
VLLMRun, CachePlan = VLLM_RUN, CACHE_PLAN
NodeCacheStatus = Kind(
    *(VLLM_RUN.group, VLLM_RUN.version, "NodeCacheStatus", "nodecachestatuses"), namespaced=False
)
"""What a node's cache has; a cluster whose nodes run no cache agent need not know it."""

Pod = Kind("", "v1", "Pod", "pods")
PersistentVolumeClaim = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
ConfigMap = Kind("", "v1", "ConfigMap", "configmaps")
Event = Kind("", "v1", "Event", "events")
ServiceAccount = Kind("", "v1", "ServiceAccount", "serviceaccounts")
ResourceQuota = Kind("", "v1", "ResourceQuota", "resourcequotas")
Node = Kind("", "v1", "Node", "nodes", namespaced=False)
Namespace = Kind("", "v1", "Namespace", "namespaces", namespaced=False)

Deployment = Kind("apps", "v1", "Deployment", "deployments")
StatefulSet = Kind("apps", "v1", "StatefulSet", "statefulsets")
StorageClass = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
CertificateSigningRequest = Kind(
    *("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests"),
    namespaced=False,
)
ResourceClaim = Kind("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims")
ResourceSlice = Kind("resource.k8s.io", "v1", "ResourceSlice", "resourceslices", namespaced=False)
DeviceClass = Kind("resource.k8s.io", "v1", "DeviceClass", "deviceclasses", namespaced=False)
_KUEUE, _, _KUEUE_VERSION = KUEUE.partition("/")
ClusterQueue = Kind(_KUEUE, _KUEUE_VERSION, "ClusterQueue", "clusterqueues", namespaced=False)
LocalQueue = Kind(_KUEUE, _KUEUE_VERSION, "LocalQueue", "localqueues")
Workload = Kind(_KUEUE, _KUEUE_VERSION, "Workload", "workloads")


def _review(group: str, name: str) -> Kind:
    return Kind(f"{group}.k8s.io", "v1", name, f"{name.lower()}s", namespaced=False)


SelfSubjectAccessReview = _review("authorization", "SelfSubjectAccessReview")
SelfSubjectRulesReview = _review("authorization", "SelfSubjectRulesReview")
SelfSubjectReview = _review("authentication", "SelfSubjectReview")
