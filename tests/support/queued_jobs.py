"""Jobs of a team's member, and what Kueue does to their pods."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from support.jobs import SMALL, WAITS, Job
from support.kueue import preempt, report
from support.one import One
from support.servers import SMALL as REQUESTS
from support.servers import apply_flavor, wait_until

from devctl.api.devserver_user import namespace_of
from devctl.api.kinds import TEAM, USER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

FIRST, SECOND = "2026-01-02T12:00:00Z", "2026-01-02T13:00:00Z"


@dataclass(frozen=True)
class Place:
    """The namespace of a member of a team; team, user and flavor have one name."""

    kubectl: Kubectl
    name: str
    image: str

    @property
    def namespace(self) -> str:
        return namespace_of(self.name)

    @property
    def member(self) -> str:
        return f"{self.name}@company.com"

    def job(self, name: str = "scan", **spec: Any) -> Job:
        """A job with the flavor that takes one pod of the quota, not created yet."""
        wanted = {"command": WAITS, "flavor": self.name, "resources": SMALL}
        return Job(self.kubectl, self.namespace, self.image, name, wanted | spec)

    def pod(self, of: Job) -> dict[str, Any]:
        """The pod of a job, as soon as it exists."""
        wait_until(lambda: bool(of.get("pod", of.pod)), lambda: f"it has a pod: {of.status}")
        return of.get("pod", of.pod)[0]

    def admit(self, of: Job) -> None:
        """Do what Kueue does when there is quota."""
        report(
            self.kubectl, self.namespace, of.pod, "Pod", QuotaReserved=("True", "Any", "", SECOND)
        )
        self.kubectl.api.patch("pod", of.pod, {"spec": {"schedulingGates": None}}, self.namespace)

    def stop(self, of: Job) -> None:
        """Do what Kueue does to a preempted pod, and to any that is deleted."""
        api = self.kubectl.api
        preempt(self.kubectl, self.namespace, of.pod, SECOND, kind="Pod")
        said = of.get("pod", of.pod)[0]["status"].get("conditions", [])
        mark = {"type": "TerminationTarget", "status": "True", "lastTransitionTime": FIRST}
        mark |= {"reason": "WorkloadEvictedDueToPreempted", "message": "Preempted"}
        status = {"status": {"conditions": [*said, mark]}}
        api.patch("pod", of.pod, status, self.namespace, sub="status")
        # A kubelet keeps the mark, kwok does not.
        self.wait(of, "Preempted", "a server or job with a higher priority needed its quota")
        api.delete("pod", of.pod, self.namespace)
        self.release(of)

    def release(self, of: Job) -> None:
        """Remove Kueue's finalizer."""
        if of.get("pod", of.pod):
            nothing = {"metadata": {"finalizers": None}}
            self.kubectl.api.patch("pod", of.pod, nothing, self.namespace)

    def wait(self, of: Job, reason: str, message: str) -> None:
        def is_so() -> bool:
            return of.status.get("reason") == reason and message in of.status["message"]

        wait_until(is_so, lambda: f"{reason}, {message}: {of.status}", 60)


@contextmanager
def a_place(kubectl: Kubectl, image: str, pods: int = 2, **flavor: Any) -> Iterator[Place]:
    """A team with quota for some pods of a flavor, and the namespace of its one member."""
    name = f"jobs-{uuid4().hex[:6]}"
    apply_flavor(kubectl, name, resources=REQUESTS, **flavor)
    team, user = (One(kubectl.api, kind, name) for kind in (TEAM, USER))
    team.apply(flavors=[{"name": name, "pods": pods}], cohort=name)
    found = Place(kubectl, name, image)
    user.apply(username=found.member, team=name, priority="high" if flavor else "normal")
    user.wait("Ready")
    yield found
    for made in kubectl.api.list("eaj", found.namespace):
        kubectl.api.delete("eaj", made["metadata"]["name"], found.namespace)
    for pod in kubectl.api.list("pod", found.namespace):
        if pod["metadata"].get("finalizers"):
            nothing = {"metadata": {"finalizers": None}}
            kubectl.api.patch("pod", pod["metadata"]["name"], nothing, found.namespace)
    for kind in (USER, TEAM):
        kubectl.api.delete(f"{kind.plural}.{kind.group}", name)
    kubectl.api.delete("namespace", found.namespace)
    kubectl.api.delete("devserverflavor", name)
