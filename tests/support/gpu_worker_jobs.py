"""GPUWorkerJobs on a plane, and nodes that take them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from devctl_gateway.cluster.objects import manifest
from support.phased import Phased, Thing
from support.servers import wait_until

from devctl.api.gpu_worker_job import GROUP, LABEL, PLURAL, SLOTS
from devctl.api.gpu_worker_node import GPU_MEMORY, STATE
from devctl.api.kinds import GPU_WORKER_JOB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.api import Api


_LEAST = {"owner": "acc-1", "image": "localhost/any:1", "cpuCores": 1, "memoryMegabytes": 16}


class WorkerJob(Phased):
    """A job as the gateway sees it."""

    kind = GPU_WORKER_JOB

    def apply(self, **spec: Any) -> None:
        """Apply it with a spec; without a command it runs until it is ended."""
        self.apply_spec({"jobName": "A job", **_LEAST, **spec})

    @property
    def job(self) -> Thing | None:
        """Its Job."""
        return self.api.get("job", self.name, self.namespace)

    def pods(self) -> list[Thing]:
        """Its pods, the newest last."""
        found = self.api.list("pod", self.namespace, labels=f"{LABEL}={self.name}")
        return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def end(self, scenario: str = "succeed") -> None:
        """End its newest pod: `succeed`, `fail` or `job-out-of-memory`."""
        wait_until(lambda: bool(self.pods()), lambda: f"it has a pod: {self.status}")
        self.end_pod(self.pods()[-1]["metadata"]["name"], scenario)

    def delete(self) -> None:
        """Delete it, and wait until nothing is left of it."""
        self.api.delete(self.plural, self.name, self.namespace)
        wait_until(lambda: not self.job and not self.pods(), "its Job and pods go with it")


@contextmanager
def registered(api: Api, nodes: dict[str, int], slots: int = 4) -> Iterator[None]:
    """Nodes take jobs, each with GPUs of so many megabytes, as their GPUWorkerNodes would say."""
    try:
        for node, memory in nodes.items():
            labels = {STATE: "active", GPU_MEMORY: str(memory)}
            api.patch("node", node, {"metadata": {"labels": labels}})
            room = {SLOTS: str(slots)}
            status = {"status": {"capacity": room, "allocatable": room}}
            api.patch("node", node, status, sub="status")
        yield
    finally:
        for node in nodes:
            labels_gone = {STATE: None, GPU_MEMORY: None}
            api.patch("node", node, {"metadata": {"labels": labels_gone}})
            none = {SLOTS: None}
            status_gone = {"status": {"capacity": none, "allocatable": none}}
            api.patch("node", node, status_gone, sub="status")


@contextmanager
def rejecting(api: Api, namespace: str, job_name: str) -> Iterator[None]:
    """A policy of the cluster's own, against jobs of a name."""
    version, name = "admissionregistration.k8s.io/v1", "no-such-jobs"
    rule = {
        "apiGroups": [GROUP],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": [PLURAL],
    }
    against = {
        "expression": f"object.spec.jobName != '{job_name}'",
        "message": "there are no such jobs here",
    }
    kinds = {
        "ValidatingAdmissionPolicy": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [against],
        },
        "ValidatingAdmissionPolicyBinding": {"policyName": name, "validationActions": ["Deny"]},
    }
    for kind, spec in kinds.items():
        api.apply({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})
    probe = manifest("probe", namespace, {"jobName": job_name, **_LEAST})

    def is_rejected() -> bool:
        try:
            api.post(f"{GPU_WORKER_JOB.path(namespace)}?dryRun=All", probe)
        except pytest.fail.Exception as failure:
            return against["message"] in str(failure)
        return False

    try:
        wait_until(is_rejected, "the policy is in force")
        yield
    finally:
        for kind in kinds:
            api.delete(kind.lower(), name)
