"""What a real API server refuses of GPUWorkerJobs, and whom it lets write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.gpu_worker_jobs import WorkerJob

from devctl.api.gpu_worker_job import MAX_INPUT
from devctl.api.kinds import GPU_WORKER_JOB

if TYPE_CHECKING:
    from support.commands import Kubectl
    from support.phased import Thing

LEAST: Thing = {
    "owner": "acc-1",
    "jobName": "A job",
    "image": "any:1",
    "cpuCores": 1,
    "memoryMegabytes": 1,
}
CHANGED = "what a job runs, requests and is billed to cannot change"


def refusal(kubectl: Kubectl, namespace: str, spec: Thing) -> str:
    """What is said to an administrator who applies it; empty if it is accepted."""
    try:
        WorkerJob(kubectl.api, namespace, "job-1").apply_spec(LEAST | spec)
    except pytest.fail.Exception as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"gpus": 9}, "less than or equal to 8"),
        ({"gpus": 0, "gpuMemoryMegabytes": 1}, "a job without GPUs has no GPU memory"),
        ({"cpuCores": 0}, "greater than or equal to 1"),
        ({"memoryMegabytes": 0}, "greater than or equal to 1"),
        ({"timeoutSeconds": 604801}, "less than or equal to 604800"),
        ({"retries": 6}, "less than or equal to 5"),
        ({"owner": "Not an ID"}, "spec.owner"),
        ({"jobName": "a\nb"}, "control characters are not allowed"),
        ({"image": "-rf"}, "spec.image"),
        ({"inputData": "\u00e4" * (MAX_INPUT // 2 + 1)}, "the input is at most 64 KiB long"),
        ({"env": [{"name": "JOB_ID", "value": "x"}]}, "are set by devctl"),
        ({"command": ["a\x1bb"]}, "spec.command"),
        ({"artifactsClaim": "../x"}, "spec.artifactsClaim"),
        ({"schedulingStrategy": "best"}, "Unsupported value"),
        ({"unknown": 1}, "field not declared in schema"),
    ],
)
def test_what_it_cannot_be_is_said(
    kubectl: Kubectl, namespace: str, spec: Thing, says: str
) -> None:
    assert says in refusal(kubectl, namespace, spec)


def test_nothing_of_it_changes_but_that_it_is_cancelled(kubectl: Kubectl, namespace: str) -> None:
    least = {"command": ["a"], "inputData": "\u00e4" * (MAX_INPUT // 2)}
    assert refusal(kubectl, namespace, least) == ""
    for changes in (
        *({"owner": "acc-2"}, {"image": "other:1"}, {"cpuCores": 2}, {"retries": 1}),
        *({"command": ["b"]}, {"args": ["b"]}, {"env": [{"name": "A", "value": "b"}]}),
        *({"queueName": "gpus"}, {"timeoutSeconds": 5}, {"inputData": "{}"}, {"jobName": "x"}),
        {"artifactsClaim": "kept"},
    ):
        assert CHANGED in refusal(kubectl, namespace, least | changes), changes
    assert refusal(kubectl, namespace, least | {"cancelled": True}) == ""
    back = refusal(kubectl, namespace, least | {"cancelled": False})
    assert "a job that was cancelled cannot go on" in back
    assert (
        refusal(kubectl, namespace, least | {"ttlSecondsAfterFinished": 60, "cancelled": True})
        == ""
    )


@pytest.mark.parametrize("role", ["devctl-user", "devctl-job-user"])
def test_users_have_no_rights_on_it(kubectl: Kubectl, role: str) -> None:
    rules = json.loads(kubectl("get", "clusterrole", role, "-o", "json"))["rules"]
    assert rules
    groups = {group for rule in rules for group in rule.get("apiGroups", [])}
    assert groups.isdisjoint({GPU_WORKER_JOB.group, "*"})
