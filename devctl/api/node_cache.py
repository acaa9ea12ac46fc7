"""NodeCacheStatus: what the cache agent of a node reports, and where it keeps what it holds.

Cluster-scoped, one per node and named like it. The node's agent creates it and writes its status.
"""

from __future__ import annotations

from hashlib import sha256

GROUP, VERSION = "canhazgpu.dev", "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "NodeCacheStatus"
PLURAL = "nodecachestatuses"
PLAN_PLURAL = "cacheplans"
PLAN = "default"
"""The name of the only CachePlan."""

FIELDS = {"image": "images", "gitRepo": "gitRepos", "model": "models"}
"""The list of the status in which a type of the plan's items is."""
READY = "ready"
"""The status of an item as the plan wants it; also the value of a label."""
PULLING = "pulling"

PREFIX = "cache.canhazgpu.dev/"
"""What the labels of nodes begin with that say what they have."""
LABELLED = {"image": "image", "gitRepo": "git", "model": "model"}
"""What a type of the plan's items is called in these labels."""

CONTROLLER = "canhazgpu-controller"
"""The name of the Deployment and service account that writes them."""
AGENT_NAMESPACE = "canhazgpu-system"
AGENT = "canhazgpu-nodeagent"
"""The name of the agent's DaemonSet and service account."""
CONTAINER = "cache-agent"
"""The name of its container, the only one that has the whole cache mounted."""

ROOT = "/var/lib/canhazgpu/cache"
"""The cache's folder on each node."""
MIRRORS, MODELS = "git", "models"
"""Folders there: bare repositories by the plan's names, and models as huggingface_hub has them."""

IN_PODS = "/cache"
"""Where containers that claim parts of the cache have it, with the same paths in it."""
MOUNTS_VERSION, MOUNTS_KIND = "canhazgpu.com/v1alpha1", "CacheMounts"
"""What a ResourceClaim's configuration for the driver is, by which containers get such parts."""
MOST_MOUNTS = 16
"""Of repositories, and of models, in such a configuration."""

MAX_ITEMS = 256
MAX_MESSAGE = 512
MAX_ERRORS = 16
MIN_REPORT_SECONDS = 5
"""The shortest time between two reports."""
REPORT_SECONDS = 300
"""The longest time between two reports of a healthy agent."""
SILENT_SECONDS = 3 * REPORT_SECONDS
"""After so long without a report, what an agent has said does not hold any more."""

_LONGEST_NAME, _DIGEST = 63, 16
"""Of what follows a label's prefix, by Kubernetes' rules; and of the digest in a shortened one."""


def label_of(kind: str, name: str) -> str:
    """The label of nodes that have an item ready.

    A name that is too long is shortened, and has a digest of the whole one.

    Args:
        kind: Its type in the plan.
        name: Its name there.

    >>> label_of("gitRepo", "vllm-main")
    'cache.canhazgpu.dev/git.vllm-main'
    >>> label_of("model", "m" * 99)
    'cache.canhazgpu.dev/model.mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm-e4c42488df2c9626'
    """
    whole = f"{LABELLED[kind]}.{name}"
    if len(whole) > _LONGEST_NAME:
        digest = sha256(name.encode()).hexdigest()[:_DIGEST]
        whole = f"{whole[: _LONGEST_NAME - _DIGEST - 1]}-{digest}"
    return PREFIX + whole


def mirror_path(name: str) -> str:
    """Where a mirror is, in the cache's folder.

    >>> mirror_path("vllm-main")
    'git/vllm-main'
    """
    return f"{MIRRORS}/{name}"


def model_path(repo: str) -> str:
    """Where a model's folder is: that of the hub's own cache, so that its library finds it.

    >>> model_path("facebook/opt-125m")
    'models/models--facebook--opt-125m'
    """
    return f"{MODELS}/models--{repo.replace('/', '--')}"
