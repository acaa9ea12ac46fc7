"""The observer alone: children are made by hand here, and the operator is away meanwhile."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.servers import wait_until

from devctl.api.labels import DEVSERVER, FLAVOR, FLAVOR_GENERATION, GROUP, MANAGED_BY, MANAGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.commands import Kubectl
    from support.plane.plane import Plane

    from devctl.local.images import Image

DAY = 86400
LOOKS = 'looks_total{kind="devserver"}'
SLEEP = "trap 'exit 0' TERM; while :; do sleep 1; done"
Status = dict[str, Any]


pytestmark = pytest.mark.usefixtures("operator_away")


@pytest.fixture
def flavor(kubectl: Kubectl, namespace: str) -> Iterator[str]:
    """A flavor of the test's own, named like its namespace."""
    kubectl.api.apply(flavor_manifest(namespace))
    yield namespace
    kubectl("delete", "devserverflavor", namespace, "--ignore-not-found")


def flavor_manifest(name: str, **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "10m", "memory": "16Mi"}}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "DevServerFlavor",
        "metadata": {"name": name},
        "spec": {"resources": resources, **spec},
    }


class Maker:
    """Makes servers, and children as a role would."""

    def __init__(self, kubectl: Kubectl, namespace: str, flavor: str, image: str) -> None:
        self.kubectl, self.namespace, self.flavor, self.image = kubectl, namespace, flavor, image

    def server(self, **spec: Any) -> dict[str, Any]:
        return self.kubectl.api.apply(
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": "DevServer",
                "metadata": {"name": "box", "namespace": self.namespace},
                "spec": {"owner": "alice", "flavor": self.flavor, "image": self.image, **spec},
            },
        )

    def stateful_set(
        self, server: dict[str, Any], command: str = SLEEP, *, replicas: int = 1, **changes: Any
    ) -> None:
        labels = {MANAGED_BY: MANAGER, DEVSERVER: "box"}
        memory = {"memory": changes.pop("memory", "64Mi")}
        container = {
            "name": "main",
            "image": changes.pop("image", self.image),
            "imagePullPolicy": changes.pop("pull", "IfNotPresent"),
            "command": ["sh", "-c", command],
            "resources": {"requests": changes.pop("requests", {}), "limits": memory},
            "volumeMounts": [{"name": "home", "mountPath": "/home/dev"}],
        }
        owner = {k: server["metadata"][k] for k in ("name", "uid")}
        owner |= {"apiVersion": server["apiVersion"], "kind": server["kind"]}
        self.kubectl.api.apply(
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "metadata": {
                    "name": "box",
                    "namespace": self.namespace,
                    "labels": labels,
                    "ownerReferences": [owner],
                },
                "spec": {
                    "replicas": replicas,
                    "serviceName": "box",
                    "podManagementPolicy": "Parallel",
                    "selector": {"matchLabels": {DEVSERVER: "box"}},
                    "template": {
                        "metadata": {
                            "labels": labels,
                            "annotations": {FLAVOR: self.flavor, FLAVOR_GENERATION: "1"},
                        },
                        "spec": {"terminationGracePeriodSeconds": 5, "containers": [container]},
                    },
                    "volumeClaimTemplates": [
                        {
                            "metadata": {"name": "home", "labels": labels},
                            "spec": {
                                "accessModes": ["ReadWriteOnce"],
                                "storageClassName": changes.pop("storage", "devctl-home"),
                                "resources": {"requests": {"storage": "1Mi"}},
                            },
                        }
                    ],
                },
            },
        )

    def read(self) -> dict[str, Any]:
        """The server as it is stored."""
        found = self.kubectl.api.get("devserver", "box", self.namespace)
        assert found
        return found

    def status(self) -> Status:
        return dict(self.read().get("status", {}))

    def until(self, phase: str, reason: str) -> Status:
        """The status, once phase and reason are these."""
        status: Status = {}

        def so(found: dict[str, Any]) -> bool:
            nonlocal status
            status = found.get("status", {})
            return (status.get("phase"), ready(status).get("reason")) == (phase, reason)

        where = ("devserver", "box", self.namespace)
        assert self.kubectl.api.follow(*where, so, 60), json.dumps(self.status(), indent=1)
        return status


def ready(status: Status) -> dict[str, Any]:
    return condition(status, "Ready")


def condition(status: Status, kind: str) -> dict[str, Any]:
    return next((dict(c) for c in status.get("conditions", []) if c["type"] == kind), {})


@pytest.fixture
def clocks(plane: Plane) -> Iterator[Callable[[int], None]]:
    """Sets the observer's clock and the API server's, which are right again afterwards."""
    yield lambda ahead: plane.observer.set_clocks(ahead, ahead)
    plane.observer.set_clocks()


@pytest.fixture
def make(kubectl: Kubectl, namespace: str, flavor: str, images: dict[str, Image]) -> Maker:
    """Makes things in the test's namespace."""
    return Maker(kubectl, namespace, flavor, images["base"].reference)


def events(kubectl: Kubectl, namespace: str) -> list[tuple[str, str]]:
    selector = "involvedObject.kind=DevServer"
    found = kubectl.api.list("events", namespace, fields=selector)
    items = sorted(found, key=lambda event: event["metadata"]["creationTimestamp"])
    return [(event["type"], event["reason"]) for event in items]


def await_events(make: Maker, *told: tuple[str, str]) -> None:
    """Wait until Events tell of this: each is posted after the status that it is about."""
    wait_until(lambda: {*told} <= {*events(make.kubectl, make.namespace)}, f"Events tell of {told}")


def test_a_server_starts_and_runs(kubectl: Kubectl, namespace: str, make: Maker) -> None:
    server = make.server()
    make.until("Pending", "NotApplied")
    make.stateful_set(server)
    status = make.until("Running", "Ready")
    assert ready(status)["status"] == "True"
    assert ready(status)["observedGeneration"] == server["metadata"]["generation"]
    assert (status["replicas"], status["readyReplicas"], status["flavorGeneration"]) == (1, 1, 1)
    replica = status["replicaStatuses"][0]
    pod = kubectl.api.get("pod", "box-0", namespace)
    assert pod
    assert replica["node"] == pod["spec"]["nodeName"]
    assert replica["ip"] == pod["status"]["podIP"]
    assert status["endpoints"]["master"] == f"box-0.box.{namespace}.svc:29500"
    assert condition(status, "FlavorOutdated")["reason"] == "UpToDate"

    await_events(make, ("Normal", "Pending"), ("Normal", "Running"))


def test_a_stopped_server_has_nothing_left(make: Maker) -> None:
    make.stateful_set(make.server())
    make.until("Running", "Ready")
    make.stateful_set(make.server(stopped=True), replicas=0)
    status = make.until("Stopped", "Stopped")
    assert (status["replicas"], status["replicaStatuses"]) == (0, [])
    await_events(make, ("Normal", "Stopped"))


def test_a_distributed_server_lists_every_replica(make: Maker) -> None:
    server = make.server(mode="distributed", distributed={"worldSize": 4, "nprocsPerNode": 2})
    make.stateful_set(server, replicas=2)
    status = make.until("Running", "Ready")
    assert ready(status)["message"] == "2 of 2 replicas ready"
    assert [r["pod"] for r in status["replicaStatuses"]] == ["box-0", "box-1"]
    assert len(status["endpoints"]["hosts"]) == 2


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"command": "exit 3"}, ("Failed", "CrashLoop", "exited with code 3")),
        (
            {"command": "tail /dev/zero", "memory": "20Mi"},
            ("Failed", "OutOfMemory", "choose a flavor with more memory"),
        ),
        (
            {"image": "localhost/devctl/none:1"},
            ("Failed", "ImagePullFailed", "image `localhost/devctl/none:1` cannot be pulled"),
        ),
        (
            {"image": "localhost/devctl/none:1", "pull": "Never"},
            ("Failed", "ImagePullFailed", "cannot be pulled"),
        ),
        (
            {"requests": {"cpu": "10000"}},
            ("Pending", "Unschedulable", "no node has enough free `cpu`"),
        ),
        (
            {"storage": "none"},
            ("Pending", "VolumePending", "claim `home-box-0` has no volume"),
        ),
    ],
    ids=["crash", "memory", "image", "image-never", "cpu", "storage"],
)
def test_it_says_why_a_server_does_not_run(
    make: Maker, changes: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    phase, reason, said = expected
    make.stateful_set(make.server(), **changes)
    make.until(phase, reason)
    # A claim says why it has no volume a moment after that it has none.
    wait_until(
        lambda: said in ready(make.status())["message"],
        lambda: f"{ready(make.status())} has {said}",
    )
    await_events(make, ("Warning", reason))


def test_it_says_when_the_quota_is_used_up(kubectl: Kubectl, namespace: str, make: Maker) -> None:
    kubectl("create", "quota", "team", "-n", namespace, "--hard=pods=0")
    # It counts from when Kubernetes has taken it in.
    taken_in = "--for=jsonpath={.status.hard.pods}=0"
    kubectl("wait", "quota/team", "-n", namespace, taken_in, "--timeout=60s")
    make.stateful_set(make.server())
    status = make.until("Pending", "QuotaExceeded")
    assert (
        "quota `team` is used up: it needs pods=1, but pods=0 of pods=0"
        in (ready(status)["message"])
    )
    kubectl("delete", "quota", "team", "-n", namespace)


def test_an_unknown_flavor_is_a_failure_that_lists_the_others(make: Maker) -> None:
    make.server(flavor="no-such-flavor")
    status = make.until("Failed", "InvalidFlavor")
    assert "set spec.flavor to one of: " in ready(status)["message"]
    make.server()
    make.until("Pending", "NotApplied")


def test_a_changed_flavor_is_told_and_whether_it_fits(
    kubectl: Kubectl, make: Maker, flavor: str
) -> None:
    make.stateful_set(make.server())
    make.until("Running", "Ready")
    told = ("wait", "devserverflavor", flavor, "--timeout=60s")
    path = "--for=jsonpath={.status.schedulable}"
    kubectl(*told, f"{path}=true")

    kubectl.api.apply(flavor_manifest(flavor, nodeSelector={"no-node": "has-this"}))
    kubectl(*told, f"{path}=false")
    wait_until(
        lambda: condition(make.status(), "FlavorOutdated")["status"] == "True", "it is outdated"
    )
    assert make.status()["phase"] == "Running"


def test_time_to_live_deletes_the_server_and_not_its_home(
    kubectl: Kubectl, namespace: str, make: Maker, clocks: Callable[[int], None]
) -> None:
    server = make.server(lifecycle={"timeToLive": "1d"})
    make.stateful_set(server)
    status = make.until("Running", "Ready")
    created = datetime.fromisoformat(server["metadata"]["creationTimestamp"])
    assert datetime.fromisoformat(status["expiresAt"]) - created == timedelta(days=1)
    home = kubectl.api.get("pvc", "home-box-0", namespace)

    clocks(DAY - 3500)
    wait_until(lambda: condition(make.status(), "Expiring")["reason"] == "Soon", "notice is given")
    assert make.status()["phase"] == "Running"
    clocks(DAY)
    for kind, name in (("devserver", "box"), ("statefulset", "box"), ("pod", "box-0")):
        wait_until(lambda k=kind, n=name: kubectl.api.get(k, n, namespace) is None, f"{kind} goes")  # type: ignore[misc]
    assert home
    left = kubectl.api.get("pvc", "home-box-0", namespace)
    assert left
    assert left["metadata"]["uid"] == home["metadata"]["uid"]
    await_events(make, ("Normal", "Expired"))


def test_a_time_that_is_over_while_nobody_watches_is_over_all_the_same(
    plane: Plane, kubectl: Kubectl, namespace: str, make: Maker, clocks: Callable[[int], None]
) -> None:
    make.stateful_set(make.server(lifecycle={"timeToLive": "1d"}))
    make.until("Running", "Ready")
    plane.observer.kill()
    clocks(DAY)
    kubectl.api.delete("pod", "box-0", namespace)
    plane.observer.start()
    wait_until(lambda: condition(make.status(), "Expiring")["reason"] == "Soon", "notice is given")
    clocks(DAY + 3600)
    wait_until(lambda: kubectl.api.get("devserver", "box", namespace) is None, "it goes")
    assert kubectl.api.get("pvc", "home-box-0", namespace)


def test_a_new_observer_writes_nothing_that_is_there(
    plane: Plane, kubectl: Kubectl, namespace: str, make: Maker
) -> None:
    make.stateful_set(make.server())
    make.until("Running", "Ready")
    await_events(make, ("Normal", "Pending"), ("Normal", "Running"))
    before, told = make.read(), events(kubectl, namespace)
    plane.observer.kill()
    plane.observer.start()

    def has_looked() -> bool:
        figures = plane.observer.figures()
        return 0 < figures['objects{kind="devserver"}'] <= figures[LOOKS]

    wait_until(has_looked, "the new one has looked at everything")
    assert make.read() == before
    assert events(kubectl, namespace) == told

    kubectl.api.delete("pod", "box-0", namespace)
    # Another pod may be ready, with the same address, before anybody has looked.
    wait_until(lambda: make.read() != before, "it tells of another pod")
    make.until("Running", "Ready")
