"""devctl's own kinds, as roles, the observer and requests name them."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from devctl.api import ephemeral_acceleration_job as job
from devctl.api import gpu_worker_job, gpu_worker_node, node_activity, node_cache, usage
from devctl.api.labels import GROUP, VERSION


class Kind(NamedTuple):
    """A kind, as requests to the API server name it."""

    group: str
    """Empty for the core group."""
    version: str
    name: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As manifests write it.

        >>> Kind("apps", "v1", "Deployment", "deployments").api_version
        'apps/v1'
        """
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str = "") -> str:
        """The path of its objects, or of one of them.

        >>> Kind("", "v1", "Pod", "pods").path("team", "lab-0")
        'api/v1/namespaces/team/pods/lab-0'
        """
        parts = ["apis" if self.group else "api", self.api_version]
        parts += ["namespaces", quote(namespace, safe="")] if namespace else []
        return "/".join([*parts, self.plural, *([quote(name, safe="")] if name else [])])

    @property
    def wake(self) -> str:
        """Annotation of an object: a digest of why its role is to run again."""
        return f"{self.group}/wake"


NODE_ACTIVITY = Kind(GROUP, VERSION, node_activity.KIND, node_activity.PLURAL, namespaced=False)
"""Between the observer and the agents of nodes, and so not in KINDS, which people write."""
USAGE = Kind(GROUP, VERSION, usage.KIND, usage.PLURAL)
"""Written by the observer alone, and so not in KINDS either."""
NODE_CACHE = Kind(
    *(node_cache.GROUP, node_cache.VERSION, node_cache.KIND, node_cache.PLURAL), namespaced=False
)
"""Written by the cache agents of nodes, and so not in KINDS either."""
GPU_WORKER_JOB = Kind(
    *(gpu_worker_job.GROUP, gpu_worker_job.VERSION, gpu_worker_job.KIND, gpu_worker_job.PLURAL)
)
"""Written by the gateway, which alone knows accounts and prices, and so not in KINDS."""
GPU_WORKER_NODE = Kind(
    *(gpu_worker_job.GROUP, gpu_worker_job.VERSION, gpu_worker_node.KIND, gpu_worker_node.PLURAL),
    namespaced=False,
)
"""Written by the gateway, and so not in KINDS either."""


KINDS = (
    (DEVSERVER := Kind(GROUP, VERSION, "DevServer", "devservers")),
    (FLAVOR := Kind(GROUP, VERSION, "DevServerFlavor", "devserverflavors", namespaced=False)),
    (JOB := Kind(job.GROUP, job.VERSION, job.KIND, job.PLURAL)),
    (USER := Kind(GROUP, VERSION, "DevServerUser", "devserverusers", namespaced=False)),
    (TEAM := Kind(GROUP, VERSION, "DevServerTeam", "devserverteams", namespaced=False)),
    (
        LIFECYCLE_POLICY := Kind(
            GROUP, VERSION, "LifecyclePolicy", "lifecyclepolicies", namespaced=False
        )
    ),
    (GPU_WORKLOAD := Kind("gpu.warp.dev", "v1alpha1", "GPUWorkload", "gpuworkloads")),
    (VLLM_RUN := Kind("canhazgpu.dev", "v1alpha1", "VLLMRun", "vllmruns")),
    (CACHE_PLAN := Kind("canhazgpu.dev", "v1alpha1", "CachePlan", "cacheplans", namespaced=False)),
)
