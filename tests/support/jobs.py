"""One EphemeralAccelerationJob in a namespace of the test's own, and what people look at in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from support.plane import scenarios
from support.servers import wait_until

from devctl.api.ephemeral_acceleration_job import GROUP, KIND, VERSION, claim_name, pod_name

if TYPE_CHECKING:
    from support.commands import Kubectl

Thing = dict[str, Any]
SMALL = {"gpu": 0, "cpu": "20m", "memory": "32Mi"}
RESULT = "/artifacts/output.json"
SUCCEEDS, FAILS, WAITS = (
    ["/bin/sh", "-c", script]
    for script in (scenarios.SUCCEEDS, scenarios.FAILS, scenarios.WAITS)
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
        self.kubectl(
            "apply", "--server-side", "-f", "-", input=json.dumps(self.manifest(**changes))
        )

    def get(self, *names: str) -> list[Thing]:
        """Objects of the namespace."""
        options = ("-n", self.namespace, "--ignore-not-found", "-o", "json")
        text = self.kubectl("get", *names, *options)
        found = json.loads(text) if text.strip() else {"items": []}
        items: list[Thing] = found.get("items", [found])
        return items

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
        """Wait until it has a phase, for a reason if one is given; its status."""

        def so() -> bool:
            status = self.status
            return status.get("phase") == phase and reason in {None, status.get("reason")}

        wait_until(so, f"{phase} {reason or ''} of {self.name}: {self.status}", seconds)
        return self.status

    def wait_gone(self, kind: str, name: str, seconds: float = 120) -> datetime:
        """Wait until an object is gone; when that was seen."""
        wait_until(lambda: not self.get(kind, name), f"{kind} {name} is gone", seconds)
        return datetime.now(UTC)

    def delete(self) -> None:
        """Delete it and wait for its pod to go."""
        self.kubectl("-n", self.namespace, "delete", "eaj", self.name, "--ignore-not-found")
        self.wait_gone("pod", self.pod)

    def end(self, scenario: str = "succeed") -> None:
        """Have a program that waits end so, on a plane, where there is none."""
        note = f"{scenarios.END}={scenario}"
        self.kubectl("-n", self.namespace, "annotate", "pod", self.pod, note)

    def run(self, script: str) -> str:
        """What a script prints in its container."""
        where = ("-n", self.namespace, "exec", self.pod)
        return self.kubectl(*where, "--", "sh", "-c", script).strip()


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
            "securityContext": {"runAsUser": 1000, "runAsNonRoot": True},
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
