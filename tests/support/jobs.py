"""One EphemeralAccelerationJob in a namespace of the test's own, and what people look at in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from support.plane import scenarios
from support.servers import wait_until

from devctl.api.ephemeral_acceleration_job import GROUP, KIND, VERSION, claim_name, pod_name

if TYPE_CHECKING:
    from support.commands import Kubectl

Thing = dict[str, Any]
SMALL = {"gpu": 0, "cpu": "20m", "memory": "32Mi"}
RESULT = "/artifacts/output.json"
SUCCEEDS, FAILS, WAITS, EATS = (
    ["/bin/sh", "-c", script]
    for script in (scenarios.SUCCEEDS, scenarios.FAILS, scenarios.WAITS, scenarios.EATS)
)


@dataclass
class Job:
    """A job as its user sees it: applied, looked at, deleted."""

    kubectl: Kubectl
    namespace: str
    image: str
    name: str = "job"
    wanted: Thing = field(default_factory=dict)

    @property
    def pod(self) -> str:
        """The name of its pod."""
        return pod_name(self.name)

    @property
    def claim(self) -> str:
        """The name of its volume's claim."""
        return claim_name(self.name)

    def beside(self, name: str) -> Job:
        """Another job in the same namespace, with the same image."""
        return Job(self.kubectl, self.namespace, self.image, name)

    def manifest(self, **changes: Any) -> Thing:
        """Its manifest with the fields that changed."""
        self.wanted |= changes
        spec = {"image": self.image, "resources": SMALL, "pvcSize": "10Mi"} | self.wanted
        return {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": KIND,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": spec,
        }

    def apply(self, **changes: Any) -> None:
        """Apply its manifest with the fields that changed."""
        self.kubectl.api.apply(self.manifest(**changes))

    def get(self, kinds: str, name: str = "", *, labels: str = "") -> list[Thing]:
        """Objects of the namespace: the one of a name, or all of some kinds."""
        if name:
            found = self.kubectl.api.get(kinds, name, self.namespace)
            return [] if found is None else [found]
        return self.kubectl.api.list(kinds, self.namespace, labels=labels)

    @property
    def status(self) -> Thing:
        """Its status; empty before there is one."""
        found = self.get("eaj", self.name)
        status: Thing = found[0].get("status", {}) if found else {}
        return status

    @property
    def phase(self) -> str:
        """Its phase; empty before there is one."""
        return str(self.status.get("phase", ""))

    def condition(self, kind: str) -> Thing:
        """A condition of its status; empty where there is none."""
        found = (c for c in self.status.get("conditions", []) if c["type"] == kind)
        return next(found, {})

    def wait(self, phase: str, reason: str | None = None, seconds: float = 120) -> Thing:
        """Wait until it has a phase, for a reason if one is given; its status then."""
        found: Thing = {}

        def so(job: Thing) -> bool:
            nonlocal found
            found = job.get("status", {})
            return found.get("phase") == phase and reason in {None, found.get("reason")}

        if not self.kubectl.api.follow("eaj", self.name, self.namespace, so, seconds):
            pytest.fail(
                f"not within {seconds:.0f} s: {phase} {reason} of {self.name}: {self.status}"
            )
        return found

    def wait_applied(self, seconds: float = 60) -> None:
        """Wait until the role has done all that it does for the present spec."""

        def so() -> bool:
            found = self.get("eaj", self.name)[0]
            condition = self.condition("Applied")
            generation = found["metadata"]["generation"]
            return (condition.get("status"), condition.get("observedGeneration")) == (
                "True",
                generation,
            )

        wait_until(so, lambda: f"it is applied: {self.condition('Applied')}", seconds)

    def wait_gone(self, kind: str, name: str, seconds: float = 120) -> datetime:
        """Wait until an object is gone; when that was seen."""
        wait_until(lambda: not self.get(kind, name), f"{kind} {name} is gone", seconds)
        return datetime.now(UTC)

    def delete(self) -> None:
        """Delete it and wait for its pod to go."""
        self.kubectl.api.delete("eaj", self.name, self.namespace)
        self.wait_gone("pod", self.pod)

    def end(self, scenario: str = "succeed") -> None:
        """End its pod, which runs on a plane, where it has no program: `succeed` or `fail`."""
        note = {"metadata": {"annotations": {scenarios.END: scenario}}}
        self.kubectl.api.patch("pod", self.pod, note, self.namespace)

    def run(self, script: str) -> str:
        """What a script prints in its container."""
        where = ("-n", self.namespace, "exec", self.pod)
        return self.kubectl(*where, "--", "sh", "-c", script).strip()


def told(job: Job) -> Any:
    """What its status says in the end, with nothing that differs from job to job."""
    status = job.status
    conditions = {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}
    times = {"startedAt", "finishedAt", "podExpiresAt", "artifactsExpireAt"}
    rest = {name: value for name, value in status.items() if name not in {"conditions", *times}}
    text = json.dumps([conditions, rest])
    for name in sorted({*times, "nodeName"}):
        text = text.replace(status.get(name, "-"), name.upper())
    return json.loads(text.replace(job.name, "NAME"))


def moment(text: str) -> datetime:
    """A time of the API's."""
    return datetime.fromisoformat(text)


def holder(job: Job, name: str = "holder") -> Thing:
    """A pod of somebody's that has the job's volume in use."""
    hardened = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    volume = {"name": "artifacts", "persistentVolumeClaim": {"claimName": job.claim}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": job.namespace},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "securityContext": {
                "runAsUser": 1000,
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "holder",
                    "image": job.image,
                    "command": ["sleep", "600"],
                    "securityContext": hardened,
                    "volumeMounts": [{"name": "artifacts", "mountPath": "/artifacts"}],
                }
            ],
            "volumes": [volume],
        },
    }
