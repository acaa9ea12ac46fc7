"""Who may scale what is in a queue (config/admission/queue_scale.yaml), without Kueue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.servers import succeeds, wait_until

if TYPE_CHECKING:
    from support.commands import Kubectl

pytestmark = pytest.mark.usefixtures("enforced")

QUEUE = "kueue.x-k8s.io/queue-name"
QUEUES = "devops.yourcompany.com/queues"
SYSTEM = "system:serviceaccount:kube-system"
ALLOWED = ("system:serviceaccount:kueue-system:kueue-controller-manager", f"{SYSTEM}:anything")
REFUSED = ("kubernetes-admin", f"{SYSTEM}:horizontal-pod-autoscaler", "kueue-controller-manager")


def stateful_set(name: str, namespace: str, labels: dict[str, str]) -> dict[str, Any]:
    selected = {"app": name}
    containers = [{"name": "main", "image": "localhost/none:1"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": 0,
            "serviceName": name,
            "selector": {"matchLabels": selected},
            "template": {"metadata": {"labels": selected}, "spec": {"containers": containers}},
        },
    }


@pytest.fixture
def sets(kubectl: Kubectl, namespace: str) -> str:
    """A namespace with queues, and StatefulSets `queued` and `free`; the policy knows both."""
    kubectl("label", "namespace", namespace, f"{QUEUES}=enabled")
    kubectl.api.create(stateful_set("queued", namespace, {QUEUE: "team"}))
    kubectl.api.create(stateful_set("free", namespace, {}))
    wait_until(lambda: not succeeds(lambda: scale(kubectl, namespace, "queued")), "it is refused")
    return namespace


def scale(kubectl: Kubectl, namespace: str, name: str, user: str = "kubernetes-admin") -> None:
    groups = ["system:masters", "system:authenticated"]
    groups += ["system:serviceaccounts:kube-system"] if user.startswith(SYSTEM) else []
    impersonated = (f"--as={user}", *(f"--as-group={group}" for group in groups))
    command = ("scale", f"statefulset/{name}", "--replicas=2", "--dry-run=server")
    kubectl("-n", namespace, *command, *impersonated)


@pytest.mark.parametrize("user", REFUSED)
def test_a_stateful_set_in_a_queue_is_not_scaled_by_others(
    kubectl: Kubectl, sets: str, user: str
) -> None:
    with pytest.raises(pytest.fail.Exception, match="against the quota of queue `team`"):
        scale(kubectl, sets, "queued", user)


@pytest.mark.parametrize("user", ALLOWED)
def test_controllers_scale_it(kubectl: Kubectl, sets: str, user: str) -> None:
    scale(kubectl, sets, "queued", user)


def test_what_is_in_no_queue_is_scaled_by_its_user(kubectl: Kubectl, sets: str) -> None:
    scale(kubectl, sets, "free")


def test_in_a_namespace_without_queues_the_label_means_nothing(kubectl: Kubectl, sets: str) -> None:
    kubectl("label", "namespace", sets, f"{QUEUES}-")
    wait_until(lambda: succeeds(lambda: scale(kubectl, sets, "queued")), "it is allowed")
