"""The contents of a job's Job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apply.manifests import CREATE_ONLY
from apply.pods import lost_node_tolerations
from apply.values import entries

from devctl.api.gpu_worker_job import (
    APP,
    ARTIFACTS_FOLDER,
    INPUT_FILE,
    JOB_APP,
    STRATEGY,
    config_name,
    resources,
)
from devctl.api.gpu_workload import PRIORITIES, TOLERATIONS
from devctl.api.queues import QUEUE_NAME
from gpu_worker_job.affinity import affinity, spread


def job_values(
    item: Mapping[str, Any], identity: Mapping[str, str], workers: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """The values for the Job's template.

    Args:
        item: The GPUWorkerJob.
        identity: The labels that mark an object as the job's.
        workers: All GPUWorkerNodes.
    """
    spec, name = item["spec"], str(item["metadata"]["name"])
    strategy = {STRATEGY: spec["schedulingStrategy"]}
    queue = {QUEUE_NAME: spec["queueName"]} if spec.get("queueName") else {}
    return {
        "name": name,
        "labels": {"app": APP} | queue,
        # Kueue, or whoever else admits it, resumes it.
        "suspended": bool(queue),
        # A Job's template never changes.
        "annotations": {CREATE_ONLY: "true"},
        "pod_labels": {"app": JOB_APP} | strategy | dict(identity),
        "retries": spec["retries"],
        "seconds": spec["timeoutSeconds"],
        "priority_class": PRIORITIES[spec["priority"]][0],
        "affinity": affinity(spec, workers),
        "spread": spread(spec),
        "tolerations": _tolerations(),
        "image": spec["image"],
        "command": spec.get("command"),
        "args": spec.get("args"),
        "environment": environment(name, spec),
        "resources": resources(spec),
        "config": config_name(name),
        "input_folder": INPUT_FILE.rpartition("/")[0],
        "artifacts_claim": spec.get("artifactsClaim"),
        "artifacts_folder": ARTIFACTS_FOLDER,
    }


def environment(name: str, spec: Mapping[str, Any]) -> list[dict[str, str]]:
    """The entries of the container's `env`: the schema lets nobody set ours."""
    ours = {
        "JOB_ID": name,
        "GPU_COUNT": spec["gpus"],
        "INPUT_DATA": spec["inputData"],
        "INPUT_DATA_FILE": INPUT_FILE,
    }
    return entries(ours | {entry["name"]: entry["value"] for entry in spec.get("env", [])})


def _tolerations() -> list[dict[str, Any]]:
    gpus = [{"key": t.key, "operator": t.operator, "effect": t.effect} for t in TOLERATIONS]
    return lost_node_tolerations() + gpus
