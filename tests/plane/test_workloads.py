"""What the observer makes of Kueue's Workloads; they and the children are made by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from support.kueue import create_workload, kueue_kinds, preempt, report
from support.servers import DevServer, apply_flavor, wait_until

from devctl.api.labels import DEVSERVER, MANAGED_BY, MANAGER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("operator_away")

SHORT = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor %s"


@dataclass(frozen=True)
class Queued:
    """A server whose pod is gated, and its Workload."""

    kubectl: Kubectl
    server: DevServer

    def stateful_set(self) -> dict[str, Any]:
        """Create its StatefulSet, as its role and Kueue's webhook do."""
        found = self.server.get("devserver", "lab")[0]
        owner = {key: found["metadata"][key] for key in ("name", "uid")}
        owner |= {"apiVersion": found["apiVersion"], "kind": found["kind"]}
        labels = {MANAGED_BY: MANAGER, DEVSERVER: "lab"}
        metadata = {"name": "lab", "namespace": self.server.namespace, "labels": labels}
        template = {
            "metadata": {"labels": labels},
            "spec": {
                "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}],
                "containers": [{"name": "main", "image": "any:1"}],
            },
        }
        spec = {"serviceName": "lab", "selector": {"matchLabels": labels}, "template": template}
        return self.kubectl.api.apply(
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "metadata": metadata | {"ownerReferences": [owner]},
                "spec": spec,
            }
        )

    def wait(self, reason: str, message: str) -> None:
        def is_so() -> bool:
            ready = self.server.condition("Ready")
            return ready.get("reason") == reason and message in ready["message"]

        wait_until(is_so, lambda: f"{reason}, {message}: {self.server.status}", 60)


@pytest.fixture
def queued(kubectl: Kubectl, namespace: str) -> Iterator[Queued]:
    apply_flavor(kubectl, namespace, resources={"requests": {"cpu": "1", "memory": "1Mi"}})
    spec = {"owner": "alice", "flavor": namespace, "image": "any:1", "team": "vision"}
    yield Queued(kubectl, DevServer(kubectl, namespace, spec))
    kubectl.api.delete("devserverflavor", namespace)


def test_workloads_are_watched_while_kueue_is_installed(queued: Queued, kubectl: Kubectl) -> None:
    server, flavor = queued.server, queued.server.namespace
    server.apply()
    owner = queued.stateful_set()
    queued.wait("Queued", "Kueue has not answered yet")
    first, second = "2026-01-02T12:00:00Z", "2026-01-02T13:00:00Z"
    short = f"{SHORT % flavor}, 1 more needed"
    with kueue_kinds(kubectl, "workloads"):
        create_workload(kubectl, owner)
        report(kubectl, flavor, "lab", QuotaReserved=("False", "Pending", short, first))
        where = f"waiting in the queue of team `vision` for flavor `{flavor}`"
        queued.wait("Queued", f"{where}: not enough quota is free: it needs 1 more cpu")

        def start() -> None:
            """As `devctl start` does."""
            kubectl.api.patch("devserver", "lab", {"spec": {"stopped": False}}, flavor)

        def stopped() -> bool:
            return bool(server.get("devserver", "lab")[0]["spec"].get("stopped"))

        preempt(kubectl, flavor, "lab", first, waits=short)
        wait_until(stopped, lambda: f"it is stopped: {server.status}")
        queued.wait("Preempted", "a server or job with a higher priority needed its quota")
        assert server.status["preemptedAt"] == first

        def told() -> int:
            return sum(event["reason"] == "Preempted" for event in server.get("event"))

        wait_until(lambda: told() == 1, lambda: f"an Event tells of it: {told()}")
        # Kueue's report stays, and is about the last start.
        start()
        queued.wait("Queued", "it needs 1 more cpu")
        assert not stopped()
        preempt(kubectl, flavor, "lab", second, waits=short)
        wait_until(stopped, lambda: f"it is stopped again: {server.status}")
        wait_until(lambda: server.status.get("preemptedAt") == second, "it says when")
        start()
        queued.wait("Queued", "it needs 1 more cpu")
    queued.wait("Queued", "Kueue has not answered yet")
