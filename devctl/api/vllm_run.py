"""A VLLMRun's names, labels, phases and conditions, and what its claim asks for."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from devctl.api.kinds import VLLM_RUN

if TYPE_CHECKING:
    from collections.abc import Mapping

LABEL = f"{VLLM_RUN.group}/vllmrun"
"""Label: the VLLMRun that an object belongs to, by name, in the same namespace."""

REPO = f"{VLLM_RUN.group}/repo"
"""Annotation of a pod: spec.repoName, the mirror that the node is to have."""

GPUS = f"{VLLM_RUN.group}/gpus"
"""Annotation of a pod: how many GPUs its claim holds, which the pod itself does not say."""

DRIVER = "canhazgpu.com"
"""The driver of the GPUs that runs claim, and the domain of their attributes."""

DEVICE_CLASS = DRIVER
"""The DeviceClass of these GPUs."""

REQUEST = "gpus"
"""The name of a claim's only request, and of the claim in the pod."""

CHECKOUT = "checkout"
"""The init container that makes the run's checkout, before the program starts."""

CHECKOUT_CODES = range(90, 95)
"""Its exit codes if the checkout cannot be made: docs/decisions/0033-checkout-capsules.md."""

CAPSULE = "capsule"
"""The key of a ConfigMap that holds a capsule."""

WORKSPACE = "/workspace"
"""The folder in a pod with the checkout, which has the repository's name there."""

RESERVED = f"{DRIVER}/reserved"
"""The taint of a GPU that the host's own tool has reserved; its value is for whom."""

RESERVATIONS_UNKNOWN = f"{DRIVER}/reservations-unknown"
"""The taint of GPUs of which nobody knows whether the host's tool has reserved them."""


class Phase(StrEnum):
    """What a VLLMRun is doing. Succeeded and Failed are final."""

    PENDING = "Pending"
    STARTING = "Starting"
    SERVING = "Serving"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


ENDS = frozenset({Phase.SUCCEEDED, Phase.FAILED})


class Condition(StrEnum):
    """Condition types; the role writes APPLIED, the observer the others."""

    READY = "Ready"
    """True while its port answers; without a port, while its program runs."""
    SUCCEEDED = "Succeeded"
    APPLIED = "Applied"
    POD_EXPIRED = "PodExpired"
    """True when the time to keep the finished pod is over: the role then removes it."""


CACHE_PLAN = "default"
"""The name of the only CachePlan."""

LONGEST_NAME = 54
"""Of a run: its Service's name is longer."""


def claim_name(name: str) -> str:
    """The ResourceClaim of a run: `kubectl get resourceclaims` shows it by the run's name.

    >>> claim_name("my-demo")
    'my-demo'
    """
    return name


def pod_name(name: str) -> str:
    """The pod of a run.

    >>> pod_name("my-demo")
    'my-demo-vllm-pod'
    """
    return f"{name}-vllm-pod"


def service_name(name: str) -> str:
    """The Service of a run, which is not that of a server that has the run's name.

    >>> service_name("my-demo")
    'my-demo-vllm'
    """
    return f"{name}-vllm"


def checkout_name(name: str) -> str:
    """The ConfigMap with the program that makes a run's checkout.

    >>> checkout_name("my-demo")
    'my-demo-checkout'
    """
    return f"{name}-checkout"


def capsule_file(digest: str) -> str:
    """A capsule's file in a volume.

    >>> capsule_file("0f1e")
    '0f1e.tar.gz'
    """
    return f"{digest}.tar.gz"


def url_of(name: str, namespace: str, port: int) -> str:
    """Where a run is served within the cluster.

    >>> url_of("my-demo", "dev-alice", 8000)
    'http://my-demo-vllm.dev-alice.svc:8000'
    """
    return f"http://{service_name(name)}.{namespace}.svc:{port}"


def gpus_of(spec: Mapping[str, Any]) -> int:
    """How many GPUs a run claims.

    >>> gpus_of({}), gpus_of({"gpus": 2}), gpus_of({"gpuIds": [0, 2, 5]})
    (1, 2, 3)
    """
    return len(spec.get("gpuIds") or ()) or int(spec.get("gpus") or 1)
