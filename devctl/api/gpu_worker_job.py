"""GPUWorkerJob: a job of the GPU workers API, as the gateway creates it.

The gateway alone writes its spec, the observer its status. Its name is the job's ID.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from devctl.api.quantities import GPU

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP, VERSION = "imagepod.dev", "v1alpha1"
KIND, PLURAL = "GPUWorkerJob", "gpuworkerjobs"

NAMESPACE = "imagepod"
"""Where all jobs run, and the agents."""
APP = "imagepod-gpu-worker"
"""The label `app` of agents and their Service, and of Jobs, but not of the pods of Jobs."""
JOB_APP = "imagepod-gpu-job"
"""The label `app` of the pods of Jobs."""
LABEL = f"{GROUP}/gpuworkerjob"
"""Label of what a GPUWorkerJob's role creates: its name."""

STRATEGY = f"{GROUP}/scheduling-strategy"
"""Label of the pods of Jobs: spec.schedulingStrategy."""

SLOTS = f"{GROUP}/job-slots"
"""Resource of a Node, of which each job takes one: a node's max_concurrent_jobs."""

INPUT_FILE = "/input/input.json"
"""Where a program finds its input_data."""
ARTIFACTS_FOLDER = "/artifacts"
"""Where a program writes what is to be fetched, if its spec has `artifactsClaim`."""
MAX_INPUT = 65536
"""Bytes of input_data, which is in the environment as well."""


class Phase(StrEnum):
    """Its phase; the API has them in lower case."""

    PENDING = "Pending"
    SCHEDULED = "Scheduled"
    RUNNING = "Running"
    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


ENDED = frozenset({Phase.COMPLETED, Phase.FAILED, Phase.CANCELLED})
"""Phases that nothing follows."""


WAITING = "Waiting"
"""The reason of one that waits for room on a node that could take it, or for what takes seconds."""


class Condition(StrEnum):
    """Its conditions."""

    APPLIED = "Applied"
    """Written by its role."""
    SUCCEEDED = "Succeeded"
    JOB_EXPIRED = "JobExpired"
    """Its Job is to be removed: spec.ttlSecondsAfterFinished has passed."""


def config_name(name: str) -> str:
    """The ConfigMap with a job's input_data."""
    return f"{name}-input"


def resources(spec: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What its container requests, and its limits.

    >>> resources({"gpus": 0, "cpuCores": 4, "memoryMegabytes": 512})["limits"]
    {'imagepod.dev/job-slots': '1', 'memory': '512Mi'}
    """
    whole = {SLOTS: "1"} | ({GPU: str(spec["gpus"])} if spec["gpus"] else {})
    memory = {"memory": f"{spec['memoryMegabytes']}Mi"}
    return {
        "requests": {**whole, "cpu": str(spec["cpuCores"]), **memory},
        "limits": {**whole, **memory},
    }
